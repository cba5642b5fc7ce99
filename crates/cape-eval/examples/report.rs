//! A report from records: `report RECORDS.jsonl FOLDER`, or `report --demo FOLDER` from made-up numbers to look at.
//!
//! Writes `report.html`, `.md`, `.csv` and `.json`.

#[path = "report/demo.rs"]
mod demo;

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use cape_eval::record::Record;
use cape_eval::report::Report;
use cape_eval::summary::summarise;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [source, folder] = args.as_slice() else {
        return Err("usage: report RECORDS.jsonl|--demo FOLDER".into());
    };
    let report = if source == "--demo" { demo::report() } else { measured(Path::new(source))? };
    let folder = Path::new(folder);
    fs::create_dir_all(folder)?;
    fs::write(folder.join("report.html"), report.html())?;
    fs::write(folder.join("report.md"), report.markdown())?;
    fs::write(folder.join("report.csv"), report.csv())?;
    fs::write(folder.join("report.json"), report.json())?;
    Ok(())
}

fn measured(path: &Path) -> Result<Report, Box<dyn Error>> {
    let mut records: Vec<Record> = Vec::new();
    for (at, line) in BufReader::new(File::open(path)?).lines().enumerate() {
        let line = line?;
        if !line.trim().is_empty() {
            // the line itself may hold a prompt: its number is enough
            records.push(
                serde_json::from_str(&line).map_err(|error| format!("line {}: {error}", at + 1))?,
            );
        }
    }
    let mut about: Vec<(String, String)> = Vec::new();
    for record in &records {
        let cell = &record.cell;
        for (name, value) in
            [("version", &cell.version), ("data", &cell.data), ("model", &cell.model)]
        {
            let entry = (name.to_owned(), value.clone());
            if !about.contains(&entry) {
                about.push(entry);
            }
        }
    }
    about.sort();
    let title = "Cape: what is released, recovered and left".into();
    Ok(Report { title, about, points: summarise(&records), ..Report::default() })
}
