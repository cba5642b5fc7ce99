//! The counters, in Prometheus' text format.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use cape_ledger::Cost;

/// The upper bounds of the latencies' buckets, in milliseconds.
const BOUNDS: [u64; 9] = [5, 10, 20, 30, 50, 100, 250, 1000, 5000];

/// Counts of requests, draws and time. No text, no address, no name of a client.
#[derive(Default)]
pub(super) struct Metrics {
    /// By route and outcome.
    requests: Mutex<BTreeMap<(&'static str, String), u64>>,
    draws: AtomicU64,
    maps: AtomicU64,
    /// In thousandths, rounded up.
    epsilon: AtomicU64,
    /// Of the latency that perturbing adds; the last is for all above the bounds.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    microseconds: AtomicU64,
}

impl Metrics {
    pub(super) fn request(&self, route: &'static str, outcome: String) {
        let mut requests = self.requests.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *requests.entry((route, outcome)).or_default() += 1;
    }

    /// Counts a release: its cost, and the time that it took.
    pub(super) fn released(&self, time: Duration, cost: Cost) {
        self.draws.fetch_add(cost.draws, Relaxed);
        self.maps.fetch_add(cost.maps, Relaxed);
        self.epsilon.fetch_add((cost.epsilon.epsilon() * 1e3).ceil() as u64, Relaxed);
        let milliseconds = time.as_millis() as u64;
        let bucket = BOUNDS.partition_point(|&bound| bound < milliseconds);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.microseconds.fetch_add(time.as_micros() as u64, Relaxed);
    }

    /// All of it as text.
    pub(super) fn render(&self, in_flight: usize) -> String {
        let mut out = String::new();
        let head = |name: &str, kind: &str, help: &str| {
            format!("# HELP {name} {help}\n# TYPE {name} {kind}\n")
        };
        out += &head("cape_requests_total", "counter", "Requests by route and outcome.");
        let requests = self.requests.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for ((route, outcome), count) in requests.iter() {
            let _ = writeln!(
                out,
                "cape_requests_total{{route=\"{route}\",outcome=\"{outcome}\"}} {count}"
            );
        }
        out += &head("cape_requests_in_flight", "gauge", "Requests that are being served.");
        let _ = writeln!(out, "cape_requests_in_flight {in_flight}");
        out += &head("cape_draws_total", "counter", "Draws that were paid for.");
        let _ = writeln!(out, "cape_draws_total {}", self.draws.load(Relaxed));
        out += &head("cape_maps_total", "counter", "Maps that were opened.");
        let _ = writeln!(out, "cape_maps_total {}", self.maps.load(Relaxed));
        out += &head("cape_epsilon_total", "counter", "Privacy loss of all of them together.");
        let _ = writeln!(out, "cape_epsilon_total {}", self.epsilon.load(Relaxed) as f64 / 1e3);
        let name = "cape_perturbation_seconds";
        out += &head(name, "histogram", "Time from a body that is read to its texts perturbed.");
        let mut sum = 0;
        for (i, bucket) in self.buckets.iter().enumerate() {
            sum += bucket.load(Relaxed);
            let bound = BOUNDS.get(i).map_or("+Inf".into(), |&ms| (ms as f64 / 1e3).to_string());
            let _ = writeln!(out, "{name}_bucket{{le=\"{bound}\"}} {sum}");
        }
        let seconds = self.microseconds.load(Relaxed) as f64 / 1e6;
        let _ = writeln!(out, "{name}_sum {seconds}\n{name}_count {sum}");
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up() {
        let metrics = Metrics::default();
        for ms in [0, 5, 6, 100, 9000] {
            let cost = Cost { maps: 2, ..Cost::new(7, 12.0) };
            let cost = if ms == 0 { cost } else { Cost::default() };
            metrics.released(Duration::from_millis(ms), cost);
        }
        metrics.request("chat", "200".into());
        let text = metrics.render(2);
        for line in [
            "cape_perturbation_seconds_bucket{le=\"0.005\"} 2",
            "cape_perturbation_seconds_bucket{le=\"0.01\"} 3",
            "cape_perturbation_seconds_bucket{le=\"0.1\"} 4",
            "cape_perturbation_seconds_bucket{le=\"+Inf\"} 5",
            "cape_perturbation_seconds_count 5",
            "cape_requests_total{route=\"chat\",outcome=\"200\"} 1",
            "cape_draws_total 7",
            "cape_maps_total 2",
            "cape_epsilon_total 84",
            "cape_requests_in_flight 2",
        ] {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
    }
}
