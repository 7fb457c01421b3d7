//! What the parser does with good and bad texts, and that it agrees with the writer and with another reader.

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

fn rows(text: &str) -> Vec<Vec<String>> {
    let table = parse(text).unwrap();
    let values = |record: Record<'_, '_>| record.cells().map(|cell| cell.value.into_owned()).collect();
    // A text without any record has a header without cells.
    std::iter::once(table.header()).filter(|header| !header.is_empty()).chain(table.records()).map(values).collect()
}

/// Every oddity with the text that it is about.
fn oddities(text: &str) -> Vec<(OddityKind, &str)> {
    let table = parse(text).unwrap();
    table.oddities().iter().map(|odd| (odd.kind, &text[odd.start as usize..odd.end as usize])).collect()
}

fn malformed(text: &str) -> (MalformedKind, usize) {
    let error = parse(text).unwrap_err();
    (error.kind, error.start as usize)
}

#[test]
fn a_plain_table() {
    assert_eq!(rows("a,b\n1,2\n,\n"), [["a", "b"], ["1", "2"], ["", ""]]);
    assert_eq!(rows("a,b\n 1 ,2"), [["a", "b"], [" 1 ", "2"]]);
    assert_eq!(oddities("a,b\n 1 ,2"), []);
}

#[test]
fn an_empty_text_has_an_empty_header() {
    for text in ["", "\n", " \r\n\t"] {
        let table = parse(text).unwrap();
        assert!(table.header().is_empty());
        assert_eq!((table.header().start(), table.header().end(), table.header().line()), (0, 0, 1));
        assert_eq!(table.records().len(), 0);
        assert_eq!(table.oddities(), []);
    }
}

#[test]
fn a_cell_borrows_unless_it_has_doubled_quotes() {
    let table = parse("a,\"b,c\",\"d\"\"e\"").unwrap();
    let cells: Vec<_> = table.header().cells().collect();
    assert!(matches!(cells[0].value, Cow::Borrowed("a")));
    assert!(matches!(cells[1].value, Cow::Borrowed("b,c")));
    assert_eq!(cells[2].value, Cow::<str>::Owned("d\"e".into()));
    assert_eq!(cells.iter().map(|cell| (cell.start, cell.end)).collect::<Vec<_>>(), [(0, 1), (2, 7), (8, 14)]);
    assert_eq!(table.header().get(1), Some(cells[1].clone()));
    assert_eq!(table.header().get(3), None);
}

#[test]
fn every_line_end_ends_a_record_and_belongs_to_a_quoted_cell() {
    assert_eq!(rows("a\nb\r\nc\rd"), [["a"], ["b"], ["c"], ["d"]]);
    assert_eq!(rows("\"a\nb\r\nc\rd\"\n"), [["a\nb\r\nc\rd"]]);
}

#[test]
fn a_record_knows_its_line_and_its_bytes() {
    let text = "a,b\r\n\"x\ny\rz\",1\r\n\n  \"2\",3 \n";
    let table = parse(text).unwrap();
    let found: Vec<_> = table.records().map(|r| (r.line(), &text[r.start() as usize..r.end() as usize])).collect();
    assert_eq!(found, [(2, "\"x\ny\rz\",1"), (6, "  \"2\",3 ")]);
}

/// R: W-15
#[test]
fn an_unterminated_quote_is_found_where_it_opened() {
    use MalformedKind::UnterminatedQuote;
    let text = "id,title\n1,good\n2,\"bad\n3,good\n4,good\n";
    let error = parse(text).unwrap_err();
    assert_eq!((error.kind, error.start, error.end), (UnterminatedQuote, 18, 19));
    assert_eq!(text[..18].lines().count(), 3, "the quote is on the third line");
    assert_eq!(error.to_string(), "this quote is never closed");

    assert_eq!(malformed("\""), (UnterminatedQuote, 0));
    assert_eq!(malformed("a, \"b"), (UnterminatedQuote, 3));
    assert_eq!(malformed("a,\"b\"\""), (UnterminatedQuote, 2));
}

/// R: W-15
#[test]
fn a_quoted_cell_further_down_does_not_hide_it() {
    use MalformedKind::UnterminatedQuote;
    assert_eq!(malformed("a,\"b\nc,\"d\"\n"), (UnterminatedQuote, 2));
    assert_eq!(malformed("\"a\",\"b\r\"c\",\"d\"\n"), (UnterminatedQuote, 4));
    assert_eq!(malformed("a,\"b\nc,\"d,e\",\"f\"\n"), (UnterminatedQuote, 2));
}

#[test]
fn blanks_around_quotes_are_dropped() {
    assert_eq!(rows("\"a\" , \"b, c\"\t\n"), [["a", "b, c"]]);
    use OddityKind::SpacedQuote;
    assert_eq!(oddities("\"a\" ,\t\"b\"  \n"), [(SpacedQuote, " "), (SpacedQuote, "\t"), (SpacedQuote, "  ")]);
    assert_eq!(parse(" \"a\" ").unwrap().header().get(0).map(|c| (c.start, c.end)), Some((1, 4)));
}

#[test]
fn text_after_a_closing_quote_is_kept() {
    assert_eq!(rows("\"a\"b,\"x\"\"y\" z\"\" ,1"), [["ab", "x\"y z\"\" ", "1"]]);
    assert_eq!(oddities("\"a\"b,c"), [(OddityKind::TextAfterQuote, "b")]);
    assert_eq!(oddities("\"a\" \"b\",c"), [(OddityKind::TextAfterQuote, " \"b\"")]);
}

/// R: P-05
#[test]
fn backslash_escapes_a_quote_if_strict_reading_fails() {
    use OddityKind::EscapedQuote;
    for (text, value) in [
        (r#""say \"hi\", ok",1"#, r#"say "hi", ok"#),
        (r#""{\"a\": \"b\"}",1"#, r#"{"a": "b"}"#),
        (r#""\"x\"" ,1"#, r#""x""#),
        (r#""ends with \"",1"#, r#"ends with ""#),
        (r#""a ""b"" \"c\" C:\\d",1"#, r#"a "b" "c" C:\\d"#),
        ("\"two\n\\\"lines\\\" ä\",1\n", "two\n\"lines\" ä"),
    ] {
        assert_eq!(rows(text), [[value, "1"]], "{text}");
        assert_eq!(oddities(text)[0], (EscapedQuote, "\\\""), "{text}");
    }
    assert_eq!(rows(r#""C:\dir\",1"#), [[r"C:\dir\", "1"]], "strict reading comes first");
    assert_eq!(oddities(r#""C:\dir\",1"#), []);
    assert_eq!(oddities(r#""a\"b"c",1"#).first().map(|(kind, _)| *kind), Some(OddityKind::TextAfterQuote));
    assert_eq!(parse("a\n\"x\n\\\"y\\\"\"\nb\n").unwrap().records().last().unwrap().line(), 4);
}

#[test]
fn a_quote_within_a_bare_cell_is_kept() {
    assert_eq!(rows("5\" disk,a\"b\"c"), [["5\" disk", "a\"b\"c"]]);
    assert_eq!(oddities("x,a\"b\"c"), [(OddityKind::BareQuote, "\"")]);
}

#[test]
fn nul_is_kept() {
    assert_eq!(rows("a\0b\0,\"c\0\""), [["a\0b\0", "c\0"]]);
    assert_eq!(oddities("a\0b\0,\"c\0\0\""), [(OddityKind::NulByte, "\0"), (OddityKind::NulByte, "\0")]);
}

#[test]
fn blank_lines_are_skipped_and_odd_only_before_a_record() {
    assert_eq!(rows("\n \na\n\n\t\nb\n\n \n"), [["a"], ["b"]]);
    use OddityKind::BlankLine;
    assert_eq!(oddities("\n \na\n\n\t\nb\n\n \n"), [(BlankLine, "\n \n"), (BlankLine, "\n\t\n")]);
    assert_eq!(rows("a\n\"\"\n\" \"\n"), [["a"], [""], [" "]]);
}

#[test]
fn a_ragged_row_is_kept_with_its_cells() {
    use OddityKind::RaggedRow;
    let text = "a,b\n1\n1,2,3\n1,2\n";
    assert_eq!(rows(text), [vec!["a", "b"], vec!["1"], vec!["1", "2", "3"], vec!["1", "2"]]);
    let (short, long) = (RaggedRow { expected: 2, found: 1 }, RaggedRow { expected: 2, found: 3 });
    assert_eq!(oddities(text), [(short, "1"), (long, "1,2,3")]);
}

#[test]
fn oddities_are_in_the_order_of_the_text() {
    let kinds: Vec<_> = oddities("a\n1,x\"y\n").into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, [OddityKind::RaggedRow { expected: 1, found: 2 }, OddityKind::BareQuote]);
}

#[test]
fn a_cell_has_a_limit() {
    let longest = "x".repeat(MAX_CELL_BYTES);
    assert_eq!(rows(&format!("{longest},\"{longest}\"")), [[longest.as_str(), longest.as_str()]]);
    let too_long = MalformedKind::CellTooLong;
    assert_eq!(malformed(&format!("a,{longest}x")), (too_long, 2));
    assert_eq!(malformed(&format!("a, \"{longest}x\"")), (too_long, 3));
    assert_eq!(malformed(&format!("a,\"{longest}\"x")), (too_long, 2));
}

/// Texts of the characters that mean something, which random texts rarely have.
fn table_like() -> impl Strategy<Value = String> {
    prop_oneof!["[a,\" \t\r\n\0ä\\\\]{0,40}", any::<String>()]
}

/// Cells as they are written, with the line ends of RFC 4180 and of everybody else.
fn well_formed() -> impl Strategy<Value = String> {
    let cell = prop_oneof!["[a-c;ä]{1,4}", Just(String::new()), "([a-c, \t\r\nä]|\"\"){0,6}".prop_map(quoted)];
    let record = prop::collection::vec(cell, 2..5).prop_map(|cells| cells.join(","));
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    prop::collection::vec((record, end), 0..6)
        .prop_map(|lines| lines.iter().map(|(record, end)| format!("{record}{end}")).collect())
}

fn quoted(text: String) -> String {
    format!("\"{text}\"")
}

proptest! {
    #[test]
    fn written_table_reads_back(table in prop::collection::vec(prop::collection::vec(table_like(), 1..4), 0..5)) {
        let mut text = String::new();
        for record in &table {
            write_record(&mut text, record.iter().map(String::as_str));
        }
        prop_assert_eq!(rows(&text), table);
    }

    #[test]
    fn another_reader_reads_the_same(text in well_formed()) {
        let mut reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
        let theirs: Vec<Vec<String>> = reader.deserialize().collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(rows(&text), theirs);
        let ragged = |kind| matches!(kind, OddityKind::RaggedRow { .. });
        prop_assert!(oddities(&text).into_iter().all(|(kind, _)| ragged(kind)), "well-formed is not odd");
    }

    #[test]
    fn any_text_has_places_that_exist(text in table_like()) {
        match parse(&text) {
            Err(error) => prop_assert_eq!(&text[error.start as usize..error.end as usize], "\""),
            Ok(table) => {
                for odd in table.oddities() {
                    prop_assert!(text.get(odd.start as usize..odd.end as usize).is_some());
                }
                let mut last_end = 0;
                for record in std::iter::once(table.header()).chain(table.records()) {
                    prop_assert!(record.start() >= last_end);
                    let lines = text[..record.start() as usize].replace("\r\n", "\n").matches(['\n', '\r']).count();
                    prop_assert_eq!(record.line() as usize, lines + 1);
                    for cell in record.cells() {
                        prop_assert!(last_end <= cell.start && cell.start <= cell.end);
                        prop_assert!(text.get(cell.start as usize..cell.end as usize).is_some());
                        prop_assert!(cell.value.len() <= (cell.end - cell.start) as usize);
                        last_end = cell.end;
                    }
                }
            }
        }
    }
}
