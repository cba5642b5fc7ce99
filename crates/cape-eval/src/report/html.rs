//! The report as one page. Everything that comes from data is escaped here.

use std::fmt::Write;

use super::Report;
use super::chart::Chart;
use super::sections::{Group, Section};
use super::table::{Cell, Table};

const D3: &str = include_str!("../../assets/d3.min.js");
const PLOT: &str = include_str!("../../assets/plot.umd.min.js");
const SCRIPT: &str = include_str!("../../assets/report.js");
const STYLE: &str = include_str!("../../assets/report.css");

/// A page may load nothing and send nothing, whatever stands in it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// The whole page.
pub(super) fn page(report: &Report, sections: &[Section]) -> String {
    let title = escape(&report.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">To the report</a>\n"
    );
    put(&mut out, format_args!("<header><h1>{title}</h1>\n"));
    if !report.about.is_empty() {
        out.push_str("<table class=\"about\"><caption>How it was made</caption><tbody>");
        for (name, value) in &report.about {
            let (name, value) = (escape(name), escape(value));
            put(&mut out, format_args!("<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>"));
        }
        out.push_str("</tbody></table>\n");
    }
    out.push_str("</header>\n");
    out.push_str("<nav aria-label=\"Contents\"><p>Contents</p><ol>");
    for section in sections {
        put(
            &mut out,
            format_args!("<li><a href=\"#{}\">{}</a></li>", section.id, escape(section.title)),
        );
    }
    out.push_str("</ol></nav>\n<main id=\"main\">\n");
    let mut charts: Vec<&Chart> = Vec::new();
    for section in sections {
        put_section(&mut out, section, &mut charts);
    }
    out.push_str("</main>\n");
    if !charts.is_empty() {
        let data = for_script(&super::json(&charts));
        put(
            &mut out,
            format_args!("<script type=\"application/json\" id=\"charts\">{data}</script>\n"),
        );
        for script in [D3, PLOT, SCRIPT] {
            put(&mut out, format_args!("<script>\n{script}</script>\n"));
        }
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn put_section<'a>(out: &mut String, section: &'a Section, charts: &mut Vec<&'a Chart>) {
    let (id, title) = (section.id, escape(section.title));
    put(
        out,
        format_args!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{title}</h2>\n"
        ),
    );
    for text in &section.text {
        put(out, format_args!("<p>{}</p>\n", escape(text)));
    }
    put_legend(out, &section.legend, section.paper);
    for group in &section.groups {
        put_group(out, group, section.id == "notes", charts);
    }
    out.push_str("</section>\n");
}

fn put_group<'a>(out: &mut String, group: &'a Group, plain: bool, charts: &mut Vec<&'a Chart>) {
    if !group.title.is_empty() {
        put(out, format_args!("<h3>{}</h3>\n", escape(&group.title)));
    }
    if plain {
        group.items.iter().for_each(|item| put(out, format_args!("<p>{}</p>\n", escape(item))));
    } else if !group.items.is_empty() {
        out.push_str("<ul class=\"findings\">");
        for item in &group.items {
            // what stands before the first colon says where, the rest says what
            let item = match item.split_once(": ") {
                Some((place, rest)) => {
                    format!("<strong>{}:</strong> {}", escape(place), escape(rest))
                }
                None => escape(item),
            };
            put(out, format_args!("<li>{}</li>", bound(&item)));
        }
        out.push_str("</ul>\n");
    }
    if !group.charts.is_empty() {
        // charts with labels at their points need more room
        let class =
            if group.charts.iter().any(Chart::is_labelled) { "charts" } else { "charts small" };
        put(out, format_args!("<div class=\"{class}\">\n"));
        for chart in &group.charts {
            put_chart(out, chart, charts.len());
            charts.push(chart);
        }
        out.push_str("</div>\n");
    }
    for table in &group.tables {
        put_table(out, table);
    }
}

fn put_chart(out: &mut String, chart: &Chart, number: usize) {
    let class = if chart.wide { "chart wide" } else { "chart" };
    let (title, caption) = (escape(&chart.title), escape(&chart.caption));
    put(
        out,
        format_args!(
            "<figure class=\"{class}\"><figcaption><strong>{title}</strong> {caption}</figcaption>\n"
        ),
    );
    put_legend(out, &chart.legend, false);
    put(out, format_args!("<div class=\"plot\" data-chart=\"{number}\"></div>\n"));
    put(
        out,
        format_args!(
            "<details><summary>Numbers<span class=\"away\"> of {title}</span></summary>\n"
        ),
    );
    put_table(out, &chart.table());
    out.push_str("</details></figure>\n");
}

/// Names; the script puts the marks before them.
fn put_legend(out: &mut String, legend: &[(String, usize)], paper: bool) {
    if legend.is_empty() {
        return;
    }
    out.push_str("<ul class=\"legend\" aria-label=\"Legend\">");
    for (name, style) in legend {
        put(out, format_args!("<li data-style=\"{style}\">{}</li>", escape(name)));
    }
    if paper {
        out.push_str("<li data-style=\"paper\">hollow and dashed: the paper’s numbers</li>");
    }
    out.push_str("</ul>\n");
}

fn put_table(out: &mut String, table: &Table) {
    let caption = escape(&table.caption);
    put(
        out,
        format_args!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\"><table><caption>{caption}</caption>"
        ),
    );
    let class = |column: usize| if table.is_number(column) { " class=\"n\"" } else { "" };
    out.push_str("<thead><tr>");
    for (column, head) in table.heads.iter().enumerate() {
        put(out, format_args!("<th scope=\"col\"{}>{}</th>", class(column), escape(head)));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>");
        for (column, cell) in row.iter().enumerate() {
            let tag = if column == 0 { "th scope=\"row\"" } else { "td" };
            let end = &tag[..2];
            put(out, format_args!("<{tag}{}>{}</{end}>", class(column), cell_html(cell)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn cell_html(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => escape(text),
        Cell::Number(text) => match text.split_once(" (") {
            Some((mean, rest)) => format!("{} <small>({}</small>", escape(mean), escape(rest)),
            None => escape(text),
        },
        Cell::Words(words) => {
            let word = |(text, new): &(String, bool)| {
                let (word, space) = text.split_at(text.trim_end().len());
                if *new && !word.is_empty() {
                    format!("<mark>{}</mark>{space}", escape(word))
                } else {
                    escape(text)
                }
            };
            words.iter().map(word).collect()
        }
    }
}

/// Writing to a string cannot fail.
fn put(out: &mut String, text: std::fmt::Arguments) {
    let _ = out.write_fmt(text);
}

/// Text that stays text, between tags and in quotes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // a page may not hold them
            c if c.is_control() && !c.is_whitespace() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Numbers that stay on a line with what belongs to them.
fn bound(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
        .replace("ε ≈ ", "ε\u{a0}≈\u{a0}")
        .replace("ε = ", "ε\u{a0}=\u{a0}")
}

/// JSON that cannot end its script or begin another.
fn for_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                put(&mut out, format_args!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(
            escape("<b a=\"x\" b='y'>&\0"),
            "&lt;b a=&quot;x&quot; b=&#39;y&#39;&gt;&amp;\u{fffd}"
        );
        let data = for_script(&super::super::json(&"</script><!--\u{2028}&"));
        assert_eq!(data, "\"\\u003c/script\\u003e\\u003c!--\\u2028\\u0026\"");
        assert_eq!(serde_json::from_str::<String>(&data).unwrap(), "</script><!--\u{2028}&");
        let words = Cell::Words(vec![("<i> ".into(), true), ("a&b".into(), false)]);
        assert_eq!(cell_html(&words), "<mark>&lt;i&gt;</mark> a&amp;b");
    }

    #[test]
    fn the_scripts_cannot_end_early() {
        for script in [D3, PLOT, SCRIPT] {
            let script = script.to_lowercase();
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!STYLE.to_lowercase().contains("</style") && !STYLE.contains("url("));
    }
}
