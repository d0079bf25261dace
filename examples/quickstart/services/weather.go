package services

import (
	"hash/fnv"
	"math"
)

var weather = service("weather",
	fn("current_conditions", "Tell the weather at a place right now: temperature, wind, humidity and sky.",
		req("location", "City, address or \"latitude,longitude\""),
		opt("units", "Units of measurement", oneOf("metric", "imperial"), or("metric")),
		computed(currentConditions)),
	fn("daily_forecast", "Forecast the weather of the coming days: sun or rain, highest and lowest temperature.",
		req("location", "City, address or \"latitude,longitude\""),
		opt("days", "Number of days, from 1 to 10", integer, or(3)),
		opt("units", "Units of measurement", oneOf("metric", "imperial"), or("metric")),
		computed(forecast)),
	fn("hourly_rain", "Tell whether it is going to rain or snow in the next six hours, and how much in each.",
		req("location", "City, address or \"latitude,longitude\""),
		returns(`{"location": "{location}", "millimetres": [0, 0, 0.4, 1.2, 0.3, 0], "summary": "Light rain in two hours."}`)),
	fn("weather_alerts", "List official warnings of storm, flood, heat or ice for an area.",
		req("location", "City, region or \"latitude,longitude\""),
		opt("severity", "Least severity to report", oneOf("minor", "moderate", "severe", "extreme"), or("minor")),
		returns(`{"location": "{location}", "severity": "{severity}", "alerts": [
			{"event": "Strong wind", "severity": "{severity}", "advice": "Secure loose objects outdoors."}]}`)),
	fn("air_quality", "Report air pollution and pollen at a place, with an index and health advice.",
		req("location", "City, address or \"latitude,longitude\""),
		opt("include_pollen", "Also report pollen counts", boolean, or(false)),
		returns(`{"location": "{location}", "index": 42, "level": "good", "pm2_5": 8.1, "ozone": 61, "include_pollen": "{include_pollen}"}`)),
	fn("historical_weather", "Look up what the weather was like at a place on a day in the past.",
		req("location", "City, address or \"latitude,longitude\""),
		req("date", "Day to look up, as YYYY-MM-DD"),
		returns(`{"location": "{location}", "date": "{date}", "high": 17.5, "low": 9, "rain_mm": 3.2, "units": "metric"}`)),
	fn("sun_times", "Give the times of sunrise, sunset and twilight at a place on a given day.",
		req("location", "City, address or \"latitude,longitude\""),
		opt("date", "Day to compute for, as YYYY-MM-DD", or("today")),
		returns(`{"location": "{location}", "date": "{date}", "dawn": "05:12", "sunrise": "05:47", "sunset": "20:58", "dusk": "21:33"}`)),
)

// The forecast is computed, since its length follows from an argument and its numbers
// have to fit the units. Both replies start from the place alone, so the present weather
// agrees with the first day of the forecast.

func currentConditions(c call) any {
	return map[string]any{
		"location": c.value("location"), "units": c.value("units"), "temperature": c.degrees(noon(c, 0)),
		"sky": sky(c, 0), "humidity_percent": 40 + seed(c)%50,
	}
}

func forecast(c call) any {
	days := 0
	c.decode("days", &days)
	outlook := make([]map[string]any, min(max(days, 1), 10))
	for i := range outlook {
		outlook[i] = map[string]any{
			"in_days": i, "sky": sky(c, i),
			"high": c.degrees(noon(c, i) + 1), "low": c.degrees(noon(c, i) - 7),
		}
	}
	return map[string]any{"location": c.value("location"), "units": c.value("units"), "days": outlook}
}

func seed(c call) int {
	h := fnv.New32a()
	h.Write(c.value("location"))
	return int(h.Sum32() % 1000)
}

func sky(c call, day int) string {
	skies := []string{"clear", "partly cloudy", "overcast", "light rain", "windy"}
	return skies[(seed(c)+day)%len(skies)]
}

// noon is the temperature around midday in degrees Celsius.
func noon(c call, day int) float64 {
	return float64(8+seed(c)%18) + 2*math.Sin(float64(day))
}

func (c call) degrees(celsius float64) float64 {
	units := ""
	c.decode("units", &units)
	if units == "imperial" {
		celsius = celsius*9/5 + 32
	}
	return math.Round(celsius*10) / 10
}
