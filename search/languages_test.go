package search_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// Questions find their tools within a language. A file testdata/languages/<language>.txt has the
// descriptions of tools, a line each, an empty line, and questions, each after the number of its
// tool. The words of the questions have other endings than those of the descriptions, and German
// questions have compounds. The tools have no names, since most are in English. The golden file
// has the rank of each question's tool. Rewrite it with
//
//	go test -run Languages -update ./search
func TestLanguages(t *testing.T) {
	files := testtools.Must(filepath.Glob("testdata/languages/*.txt"))(t)
	require.Len(t, files, 8)
	var ranks, lines strings.Builder
	for _, file := range files {
		tools, questions, isSplit := strings.Cut(testtools.ReadFile(t, file), "\n\n")
		require.True(t, isSplit, file)
		var docs []search.Document
		for i, description := range strings.Split(tools, "\n") {
			docs = append(docs, doc(fmt.Sprintf("t%d", 1+i), description))
		}
		s := searcherOf(t, search.BM25, docs...)
		firsts, all := 0, strings.Split(strings.TrimSpace(questions), "\n")
		assert.GreaterOrEqual(t, len(all), 12, "%s: questions", file)
		for _, line := range all {
			number, question, _ := strings.Cut(line, " ")
			want := testtools.Must(strconv.Atoi(number))(t, "%s: %q", file, line)
			rank, first := "-", "nothing"
			for i, at := range bestOf(t, s, search.ParseQuery(question)) {
				if i == 0 {
					first = docs[at].Description
				}
				if at == want-1 {
					rank = strconv.Itoa(1 + i)
				}
			}
			fmt.Fprintf(&lines, "%4s  %s", rank, question)
			if rank == "1" {
				firsts++
			} else {
				fmt.Fprintf(&lines, ", first %q", first)
			}
			fmt.Fprintln(&lines)
		}
		language := strings.TrimSuffix(filepath.Base(file), ".txt")
		fmt.Fprintf(&ranks, "%s  %2d of %d questions have their tool first\n", language, firsts, len(all))
		fmt.Fprintln(&lines)
	}
	testtools.Golden(t, filepath.Join("testdata", "languages.golden"), ranks.String()+"\n"+lines.String(), *update)
}

// Explain tells what stands for a word in German, and catalogs without German have none of it.
func TestLanguagesExplained(t *testing.T) {
	german := []search.Document{
		doc("t1", "Erstellt die Rechnung für den Kunden"),
		doc("t2", "Verfolgt ein Paket mit der Post"),
		doc("t3", "Sagt dem Kunden ab"),
	}
	english := []search.Document{doc("t1", "Erstellt Rechnung Kunden"), doc("t2", "Verfolgt Paket Post"), doc("t3", "Sagt Kunden ab")}
	for _, tt := range []struct {
		query, reason string
		want          int
	}{
		{"Rechnungen", `another form of "rechnungen"`, 0},
		{"Paketverfolgung", `a part of "paketverfolgung"`, 1},
		{"Absagen", `a part of "absagen"`, 2},
	} {
		s := searcherOf(t, search.BM25, german...)
		q := search.ParseQuery(tt.query)
		assert.Equal(t, []int{tt.want}, bestOf(t, s, q), tt.query)
		assert.Contains(t, explained(t, s, q, tt.want).String(), tt.reason, tt.query)

		s = searcherOf(t, search.BM25, english...)
		for doc := range english {
			assert.NotContains(t, explained(t, s, q, doc).String(), tt.reason, "%s, in a catalog without function words", tt.query)
		}
	}
}

// A function word of a catalog's language counts little: the tool of the other word comes first.
func TestLanguagesFunctionWords(t *testing.T) {
	s := searcherOf(t, search.BM25Options{}.Index,
		doc("t1", "Die Liste der Kunden und das Konto mit ein"),
		doc("t2", "Sendet eine Nachricht"),
		doc("t3", "Ruft an"),
	)
	assert.Equal(t, []int{1, 0}, bestOf(t, s, search.ParseQuery("die Nachricht der Woche")))
}

// A request in a language that the tools do not have finds what shares a name with it, and nothing by its function
// words, by words that look like theirs, or by characters read as Chinese. Codes and titles in other requests stay.
func TestLanguagesForeign(t *testing.T) {
	const locale, queue, clock, rating, panel = 0, 1, 2, 3, 4
	english := []search.Document{
		doc("t1", "Sets the locale, such as en, el or pt"),
		doc("t2", "Lists the queues of a Redis"),
		doc("t3", "Tells the time and the day"),
		doc("t4", "Says which answer is better, which one passes, and which month it is of"),
		doc("t5", "Opens a Grafana panel"),
	}
	chinese := []search.Document{doc("t1", "查询天空的颜色"), doc("t2", "预约会议")}
	japanese := []search.Document{doc("t1", "空の色を見る"), doc("t2", "会議を予約する")}
	spanish := []search.Document{doc("crear_pedido_tienda", "Crea un pedido en la tienda"), doc("crear_el_pedido_de_la_tienda", "Guarda")}
	for _, tt := range []struct {
		tools   []search.Document
		request string
		want    []int
	}{
		{english, "Wie wird das Wetter am Wochenende?", nil},
		{english, "die Post sagt, dass es nicht an mir liegt", nil},
		{english, "Straßen, dass", nil},
		{english, "Was macht das Grafana von meiner Firma?", []int{panel}},
		{english, "¿Qué hay hoy de comer en el comedor?", nil},
		{english, "que tengo en la agenda de hoy", nil},
		{english, "¿Que tal?", nil},
		{english, "pon el valor en-US por favor", []int{locale}},
		{english, "pon el valor EN por favor", []int{locale}},
		{english, "reinicia el Redis de la empresa", []int{queue}},
		{english, "Où est mon colis ?", nil},
		{english, "cœur que", nil},
		{english, "Qui est en vacances cette semaine ?", nil},
		{english, "Montre-moi le Grafana de la boîte", []int{panel}},
		{english, "東京へ行く電車は何時ですか", nil},
		{english, "今日のRedisを見せて", []int{queue}},
		{english, "现在时间，不是“何時ですか”", []int{clock}},
		{english, "请问の是什么时间", []int{clock}},
		{english, "codes en, el", []int{locale}},
		{english, "Los Angeles, Las queus", []int{queue}},
		{english, "son plus queus", []int{queue}},
		{english, "que", []int{queue}},
		{english, "the time in El Niño's month, says que", []int{rating, clock, locale, queue}},
		{chinese, "週末の天気はどうですか", nil},
		{chinese, "会議を午後に移して", []int{1}},
		{japanese, "空は？", []int{0}},
		{spanish, "guardda lo que es de mi casa", []int{1}},
		{spanish, "crear el pedido de la tienda", []int{1, 0}},
	} {
		s := searcherOf(t, search.BM25, tt.tools...)
		assert.Equal(t, tt.want, bestOf(t, s, search.ParseQuery(tt.request)), tt.request)
	}
}

// A question that asks how many there are finds the tool that counts, and a question that asks how
// much something is finds the tool that tells the amount.
func TestLanguagesCounts(t *testing.T) {
	const count, amount, list = 0, 1, 2
	for _, tt := range []struct {
		tools     [3]string
		questions map[string]int
	}{
		{[3]string{"Counts the orders of a customer", "Returns the amount of an order", "Lists orders"}, map[string]int{
			"how many orders are there": count, "what is the amount of the order": amount, "list the orders": list}},
		{[3]string{"Ermittelt die Anzahl der Bestellungen eines Kunden", "Zeigt den Betrag von Bestellungen", "Listet Bestellungen auf"}, map[string]int{
			"wie viele Bestellungen gibt es": count, "wieviele Bestellungen sind offen": count, "wie hoch ist der Betrag der Bestellung": amount, "wie viel Betrag haben Bestellungen": amount, "Bestellungen auflisten": list}},
		{[3]string{"Cuenta los pedidos de un cliente", "Devuelve el importe de un pedido", "Lista pedidos"}, map[string]int{
			"¿cuántos pedidos hay?": count, "¿cuántas órdenes de pedidos hay?": count, "¿cuál es el importe del pedido?": amount, "¿cuánto es el importe de un pedido?": amount, "listar los pedidos": list}},
		{[3]string{"Compte les commandes d'un client", "Affiche le montant d'une commande", "Liste les commandes"}, map[string]int{
			"combien de commandes avons-nous": count, "quel est le montant de la commande": amount, "à combien est le montant de la commande": amount, "lister les commandes": list}},
		{[3]string{"Подсчитывает количество заказов клиента", "Показывает сумму заказа", "Выводит список заказов"}, map[string]int{
			"сколько заказов у нас": count, "какая сумма заказа": amount, "сколько сумма заказа": amount, "список заказов": list}},
		{[3]string{"顧客の注文の件数を数える", "注文の金額を表示する", "注文を一覧表示する"}, map[string]int{
			"注文は何件ありますか": count, "注文はいくつある？": count, "注文の金額はいくらですか": amount, "注文の一覧": list}},
		{[3]string{"고객의 주문 건수를 집계합니다", "주문의 금액을 표시합니다", "주문 목록을 표시합니다"}, map[string]int{
			"주문이 몇 건 있어?": count, "얼마나 많은 주문이 있어?": count, "주문 금액이 얼마야?": amount, "주문 목록": list}},
		{[3]string{"统计客户的订单个数", "查询订单的金额", "列出订单"}, map[string]int{
			"一共有多少订单": count, "订单有几个": count, "有几个订单": count, "订单数量": count, "订单有多少": count,
			"订单金额是多少": amount, "订单的金额多少": amount, "订单的金额有多少呢": amount, "有哪些订单": list}},
		{[3]string{"Counts the orders of a customer", "Returns the amount of an order", "Lists orders"}, map[string]int{
			"一共有多少订单": count, "有几个订单": count, "有几笔订单": count, "订单数量": count, "订单有多少": count, "多少个订单": count, "多少订单": count,
			"订单金额是多少": amount, "订单的金额多少": amount, "订单的金额有多少呢": amount, "多少金额的订单": amount, "有哪些订单": list}},
		{[3]string{"Counts the tickets that were sold", "Returns the price of a ticket", "Lists tickets"}, map[string]int{
			"有多少张票": count, "一张票多少钱": amount, "多少钱一张票": amount, "票价是多少钱": amount, "列出票": list}},
	} {
		var docs []search.Document
		for i, description := range tt.tools {
			docs = append(docs, doc(fmt.Sprintf("t%d", 1+i), description))
		}
		s := searcherOf(t, search.BM25, docs...)
		for question, want := range tt.questions {
			got := bestOf(t, s, search.ParseQuery(question))
			if assert.NotEmpty(t, got, question) {
				assert.Equal(t, want, got[0], "%s: %q", question, tt.tools)
			}
		}
	}
}
