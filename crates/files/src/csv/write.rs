//! Writes records so that [`parse`](super::parse) and every RFC 4180 reader give back the same cells.

use crate::lines::BLANKS;

/// Writes one record and its line end. No cells write nothing.
pub fn write_record<'a>(out: &mut String, cells: impl Iterator<Item = &'a str>) {
    let start = out.len();
    let mut count = 0_usize;
    for cell in cells {
        if count > 0 {
            out.push(',');
        }
        write_cell(out, cell);
        count += 1;
    }
    if count == 1 && out.len() == start {
        out.push_str("\"\""); // an empty line would be no record
    }
    if count > 0 {
        out.push('\n');
    }
}

/// Writes one cell, in quotes only where it needs them.
pub fn write_cell(out: &mut String, cell: &str) {
    let padded = cell.starts_with(BLANKS) || cell.ends_with(BLANKS);
    if !padded && !cell.contains([',', '"', '\r', '\n']) {
        out.push_str(cell);
        return;
    }
    out.push('"');
    for (nth, part) in cell.split('"').enumerate() {
        if nth > 0 {
            out.push_str("\"\"");
        }
        out.push_str(part);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(cells: &[&str]) -> String {
        let mut out = String::new();
        write_record(&mut out, cells.iter().copied());
        out
    }

    #[test]
    fn quotes_only_where_needed() {
        assert_eq!(written(&["a", "b c", "ä;|'"]), "a,b c,ä;|'\n");
        assert_eq!(written(&["a,b", "say \"hi\"", "x\ny", "x\ry"]), "\"a,b\",\"say \"\"hi\"\"\",\"x\ny\",\"x\ry\"\n");
        assert_eq!(written(&[" a", "a\t", " "]), "\" a\",\"a\t\",\" \"\n");
        assert_eq!(written(&["\""]), "\"\"\"\"\n");
    }

    #[test]
    fn a_lone_empty_cell_is_not_an_empty_line() {
        assert_eq!(written(&[""]), "\"\"\n");
        assert_eq!(written(&["", ""]), ",\n");
        assert_eq!(written(&[]), "");
    }
}
