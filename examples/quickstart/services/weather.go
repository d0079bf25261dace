package services

// Parameters of several tools.
var (
	theLocation = req("location", "City, address or \"latitude,longitude\"")
)

var weather = service("weather",
	fn("current_conditions", "Tell the weather at a place right now: temperature, wind, humidity and sky.", theLocation,
		opt("units", "Units of measurement", oneOf("metric", "imperial"), or("metric"))),
	fn("daily_forecast", "Forecast the weather of the coming days: sun or rain, highest and lowest temperature.",
		theLocation, opt("days", "Number of days, from 1 to 10", integer, or(3)),
		opt("units", "Units of measurement", oneOf("metric", "imperial"), or("metric")),
		returns(`{"location": "{location}", "units": "{units}", "days": [{"sky": "light rain", "high": 19, "low": 11}]}`)),
	fn("hourly_rain", "Tell whether it is going to rain or snow in the next six hours, and how much in each.",
		theLocation,
		returns(`"millimetres": [0, 0, 0.4, 1.2, 0.3, 0], "summary": "Light rain in two hours."`)),
	fn("weather_alerts", "List official warnings of storm, flood, heat or ice for an area.",
		req("location", "City, region or \"latitude,longitude\""),
		opt("severity", "Least severity to report", oneOf("minor", "moderate", "severe", "extreme"), or("minor")),
		returns(`"alerts": [
			{"event": "Strong wind", "severity": "{severity}", "advice": "Secure loose objects outdoors."}]`)),
	fn("air_quality", "Report air pollution and pollen at a place, with an index and health advice.", theLocation,
		opt("include_pollen", "Also report pollen counts", boolean, or(false))),
	fn("historical_weather", "Look up what the weather was like at a place on a day in the past.", theLocation,
		req("date", "Day to look up, as YYYY-MM-DD")),
	fn("sun_times", "Give the times of sunrise, sunset and twilight at a place on a given day.", theLocation,
		opt("date", "Day to compute for, as YYYY-MM-DD", or("today"))),
)
