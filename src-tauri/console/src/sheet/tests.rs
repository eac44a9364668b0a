use super::*;

fn text(sheet: Sheet, text: &str) -> String {
    sheet.cell(Cell::Text(text.to_owned()))
}

#[test]
fn cells_are_quoted_and_formulas_are_marked_as_text() {
    for (given, written) in [
        ("", ""),
        ("-0.10000000", "-0.10000000"),
        ("1500", "1500"),
        ("SENT", "SENT"),
        ("a,b", "\"a,b\""),
        ("say \"x\"", "\"say \"\"x\"\"\""),
        ("=1+1", "'=1+1"),
        ("-x", "'-x"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+1,2", "\"'+1,2\""),
        ("\t=1", "' =1"),
        ("A-17;=1+1;b", "\"A-17;'=1+1;b\""),
        ("B-18\r\n=cmd", "B-18  =cmd"),
        ("A; \"-1", "\"A;' \"\"-1\""),
        ("＝1", "'＝1"),
    ] {
        assert_eq!(text(Sheet::CSV, given), written, "{given:?}");
    }
}

#[test]
fn a_spreadsheet_takes_references_for_text() {
    let german = Sheet::for_locale(Some("de"));
    for (given, written) in [
        ("", ""),
        ("Kaffee für Ann", "Kaffee für Ann"),
        ("00123", "\"\t00123\""),
        ("1E5", "\"\t1E5\""),
        ("1.50", "\"\t1.50\""),
        ("MAR-2", "\"\tMAR-2\""),
        ("+49 30 1", "\"\t+49 30 1\""),
        ("=cmd|x", "\"\t=cmd|x\""),
        (" -x", "\"\t -x\""),
        ("@SUM(A1)", "\"\t@SUM(A1)\""),
        ("\t=1", "\"\t =1\""),
        ("a\r=b", "a =b"),
        ("say \"x\"", "\"say \"\"x\"\"\""),
    ] {
        assert_eq!(text(german, given), written, "{given:?}");
    }
}

#[test]
fn a_formula_behind_the_other_separator_is_marked() {
    assert_eq!(
        text(Sheet::for_locale(Some("de")), "A,=1+1;=b"),
        "\"\tA,'=1+1;=b\"",
        "a comma splits a German table elsewhere"
    );
    assert_eq!(text(Sheet::for_locale(Some("en")), "A,=1+1;=b"), "\"\tA,=1+1;'=b\"");
}

#[test]
fn numbers_and_separators_are_those_of_the_locale() {
    let written = |locale| {
        let sheet = Sheet::for_locale(locale);
        sheet.heading(["a", "b"])
            + &sheet.line([Cell::Number("-1234.50".to_owned()), Cell::Word("SENT".to_owned())])
    };
    let (comma, point) = ("\u{feff}a;b\r\n-1234,50;SENT\r\n", "\u{feff}a,b\r\n-1234.50,SENT\r\n");
    for tag in ["de", "de-AT", "fr", "es-ES", "pt-BR", "it", "nl-BE", "en-ZA"] {
        assert_eq!(written(Some(tag)), comma, "{tag}");
    }
    for tag in ["en", "en-US", "en-GB", "ja", "he", "es-MX", "no such locale", ""] {
        assert_eq!(written(Some(tag)), point, "{tag}");
    }
    assert_eq!(written(Some("de-CH")), "\u{feff}a;b\r\n-1234.50;SENT\r\n");
    assert_eq!(written(None), "a,b\r\n-1234.50,SENT\r\n", "CSV for programs");
}
