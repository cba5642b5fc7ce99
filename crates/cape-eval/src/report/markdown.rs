//! The report as text: the same words and tables, no charts.

use super::Report;
use super::chart::{Body, Chart};
use super::sections::{Group, Section};
use super::table::{Cell, Table};

/// The whole document.
pub(super) fn document(report: &Report, sections: &[Section]) -> String {
    let mut out = vec![format!("# {}", escape(&report.title))];
    if !report.about.is_empty() {
        let mut about = Table::new("", ["", ""]);
        about.rows.extend(
            report.about.iter().map(|(name, value)| vec![Cell::text(name), Cell::text(value)]),
        );
        out.push(table(&about));
    }
    for section in sections {
        out.push(format!("## {}", section.title));
        out.extend(section.text.iter().map(|text| escape(text)));
        if section.groups.iter().all(|group| group.tables.is_empty() && drawn(group).is_empty())
            && section.groups.iter().any(|group| !group.charts.is_empty())
        {
            out.push(
                "*Its charts are in the page; their numbers are in the table of all points.*"
                    .into(),
            );
        }
        for group in &section.groups {
            let drawn = drawn(group);
            if group.items.is_empty() && group.tables.is_empty() && drawn.is_empty() {
                continue;
            }
            if !group.title.is_empty() {
                out.push(format!("### {}", escape(&group.title)));
            }
            let items: Vec<String> =
                group.items.iter().map(|item| format!("- {}", escape(item))).collect();
            if !items.is_empty() {
                out.push(items.join("\n"));
            }
            for one in group.tables.iter().chain(&drawn) {
                out.push(format!("*{}*", escape(&one.caption)));
                out.push(table(one));
            }
        }
    }
    out.join("\n\n") + "\n"
}

/// The tables of charts whose numbers are in no other table: points are, histograms and dots are not.
fn drawn(group: &Group) -> Vec<Table> {
    let drawn = group.charts.iter().filter(|chart| !matches!(chart.body, Body::Curves { .. }));
    drawn.map(Chart::table).collect()
}

fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let mut lines = vec![line(table.heads.iter().map(|head| escape(head)).collect())];
    let rule = |column: usize| if table.is_number(column) { "---:" } else { "---" };
    lines.push(line((0..table.heads.len()).map(|column| rule(column).into()).collect()));
    lines.extend(table.rows.iter().map(|row| line(row.iter().map(cell).collect())));
    lines.join("\n")
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Number(text) => escape(text),
        Cell::Words(words) => {
            let word = |(text, new): &(String, bool)| {
                let text = escape(text);
                if *new && !text.is_empty() { format!("**{text}**") } else { text }
            };
            words.iter().map(word).collect::<Vec<String>>().join(" ")
        }
    }
}

/// Text that stays text: on one line, and nothing in it is markup.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' | '$' => {
                out.extend(['\\', c]);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() || c == '\u{2028}' || c == '\u{2029}' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
