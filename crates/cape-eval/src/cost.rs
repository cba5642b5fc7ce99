//! The cost of a mechanism: time and memory, measured before anything else runs beside it.
//!
//! Memory is that of the process, as Linux counts it in `/proc/self/status`: how far its peak (`VmHWM`,
//! which is set back where a span begins) rises above what was resident (`VmRSS`) before. Where the
//! system does not say, it is not a number.

use std::time::Instant;

use crate::Result;
use crate::data::Data;
use crate::method::Method;
use crate::report::Efficiency;

/// Some work that is timed.
pub struct Span {
    start: Instant,
    resident_mb: f64,
    /// The field that the peak is read from.
    field: &'static str,
}

impl Span {
    /// Begins now.
    #[must_use]
    pub fn begin() -> Self {
        // 5 sets the peak back; without that, what is resident at the end stands for it
        let set_back = std::fs::write("/proc/self/clear_refs", "5").is_ok();
        let field = if set_back { "VmHWM:" } else { "VmRSS:" };
        Self { start: Instant::now(), resident_mb: status_mb("VmRSS:"), field }
    }

    /// Since then, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// The rise of memory since then, in megabytes.
    #[must_use]
    pub fn rise_mb(&self) -> f64 {
        // not `max`, which would make a zero of what is not a number
        let rise = status_mb(self.field) - self.resident_mb;
        if rise < 0.0 { 0.0 } else { rise }
    }
}

fn status_mb(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes * 1024.0 / 1e6)
}

/// Releases the first prompts one after another, with nothing beside them; `set_up` began before the
/// mechanism was made.
pub fn efficiency(
    method: &Method,
    data: &Data,
    prompts: usize,
    epsilon: f64,
    set_up: &Span,
) -> Result<Efficiency> {
    let at = method.at(epsilon)?;
    let set_up_s = set_up.seconds();
    let (mut tokens, mut seconds, mut released) = (0, 0.0, 0);
    for (number, item) in data.items.iter().take(prompts).enumerate() {
        let start = Instant::now();
        let drafts = method.drafts(&at, 0, &[(number, item)])?;
        seconds += start.elapsed().as_secs_f64();
        tokens += drafts.iter().map(|draft| draft.tokens.as_slice().len()).sum::<usize>();
        released += 1;
    }
    Ok(Efficiency {
        mechanism: method.name.clone(),
        set_up_s,
        prompt_ms: 1e3 * seconds / f64::from(released),
        token_ms: 1e3 * seconds / tokens as f64,
        memory_mb: set_up.rise_mb(),
    })
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    #[cfg(target_os = "linux")]
    fn memory_rises_by_what_is_held() {
        let span = Span::begin();
        // written, so that it is resident
        let held = vec![1_u8; 64 << 20];
        std::hint::black_box(&held);
        assert!(span.rise_mb() > 60.0 && span.seconds() > 0.0, "{}", span.rise_mb());
        drop(held);
        // the peak is over, and another span does not know of it
        assert!(Span::begin().rise_mb() < 60.0);
    }
}
