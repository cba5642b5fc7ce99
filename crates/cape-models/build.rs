//! Whether the embedded model is here. A package of crates.io is too small for it and comes without.

use std::path::Path;

fn main() {
    let weights = "default/model.safetensors";
    // the folder, since a file that is put back is no younger than it was
    println!("cargo::rerun-if-changed=default");
    println!("cargo::rustc-check-cfg=cfg(embedded_model)");
    if Path::new(weights).exists() {
        println!("cargo::rustc-cfg=embedded_model");
    }
}
