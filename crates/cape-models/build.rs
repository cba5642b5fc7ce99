//! Whether the embedded model is here. A package of crates.io is too small for it and comes without.

use std::path::Path;

fn main() {
    let weights = "default/model.safetensors";
    println!("cargo::rerun-if-changed={weights}");
    println!("cargo::rustc-check-cfg=cfg(embedded_model)");
    if Path::new(weights).exists() {
        println!("cargo::rustc-cfg=embedded_model");
    }
}
