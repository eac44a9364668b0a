//! The labels of another wallet program.

use tillgate_console::wallet::ImportedLabels;
use tillgate_domain::words::count;

/// Labels in quotes, because other people wrote them.
pub fn quoted(labels: &[String]) -> String {
    if labels.is_empty() {
        return "–".to_owned();
    }
    labels.iter().map(|label| format!("\"{label}\"")).collect::<Vec<_>>().join(", ")
}

pub fn imported_labels(view: &ImportedLabels) -> String {
    let labels =
        |labels: usize| count(u64::try_from(labels).unwrap_or(u64::MAX), "label", "labels");
    let verb =
        |count: usize, one: &'static str, more: &'static str| if count == 1 { one } else { more };
    let mut told =
        vec![format!("{} {} imported.", labels(view.imported), verb(view.imported, "was", "were"))];
    if view.unchanged > 0 {
        told.push(format!(
            "{} {} there before.",
            labels(view.unchanged),
            verb(view.unchanged, "was", "were")
        ));
    }
    if view.replaced > 0 {
        let has = verb(view.replaced, "has", "have");
        told.push(format!(
            "{} {has} another label in a later line, which holds.",
            labels(view.replaced)
        ));
    }
    if view.cut > 0 {
        told.push(format!(
            "{} {} cut to 255 characters.",
            labels(view.cut),
            verb(view.cut, "was", "were")
        ));
    }
    if view.foreign > 0 {
        let lines: Vec<String> = view.foreign_lines.iter().map(ToString::to_string).collect();
        let more = if view.foreign > lines.len() { ", …" } else { "" };
        let line = verb(view.foreign, "line", "lines");
        let names = verb(view.foreign, "names", "name");
        told.push(format!(
            "{} {names} nothing of this wallet ({line} {}{more}).",
            labels(view.foreign),
            lines.join(", ")
        ));
    }
    if view.unkept > 0 {
        let of = verb(view.unkept, "is", "are");
        told.push(format!(
            "{} {of} of a type that is not kept here ({}).",
            labels(view.unkept),
            quoted(&view.unkept_types)
        ));
    }
    if view.frozen > 0 {
        let coins = verb(view.frozen, "coin is", "coins are");
        told.push(format!(
            "Warning: {} {coins} frozen in the other program (`spendable: false`). Tillgate freezes no coins: a payout may spend them.",
            view.frozen
        ));
    }
    told.iter().map(|sentence| tillgate_domain::plain::plain(sentence) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_tells_of_each_label_that_was_left_out() {
        let view = ImportedLabels {
            imported: 12,
            unchanged: 1,
            foreign: 3,
            foreign_lines: vec![4, 9, 12],
            unkept: 1,
            unkept_types: vec!["x\u{202e}pub".to_owned()],
            cut: 1,
            replaced: 0,
            frozen: 2,
        };
        let lines = [
            "12 labels were imported.",
            "1 label was there before.",
            "1 label was cut to 255 characters.",
            "3 labels name nothing of this wallet (lines 4, 9, 12).",
            "1 label is of a type that is not kept here (\"x\\u{202e}pub\").",
            "Warning: 2 coins are frozen in the other program (`spendable: false`). Tillgate freezes no coins: a payout may spend them.",
        ];
        assert_eq!(imported_labels(&view).lines().collect::<Vec<_>>(), lines);
    }
}
