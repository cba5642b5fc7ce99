//! Llama-shaped networks in a GGUF file.

use cape_kernels::CodedWeights;

use super::causal::{Ends, Heads, Loaded};
use super::layers::Linear;
use super::llama::{self, Biases, Names, Sizes, Tensors};
use super::rope::Rope;
use crate::error::{Error, Result};
use crate::files::{Gguf, Matrix};
use crate::options::Options;

const NAMES: Names = Names {
    words: "token_embd",
    norm: "output_norm",
    head: "output",
    layer: "blk.",
    attended_norm: "attn_norm",
    query: "attn_q",
    key: "attn_k",
    value: "attn_v",
    attended: "attn_output",
    wide_norm: "ffn_norm",
    gate: "ffn_gate",
    up: "ffn_up",
    down: "ffn_down",
};

/// The factors by which rotary positions are slowed down, where there are any.
const FACTORS: &str = "rope_freqs.weight";

/// The network of a file.
pub(crate) fn load(file: &Gguf<'_>, options: Options) -> Result<Loaded> {
    let load = || {
        let (sizes, rope, tensors) = outline(file)?;
        // its integers have a scale for every block, which these kernels do not know
        llama::load(&sizes, rope, &NAMES, &tensors, options.math(false))
    };
    load().map_err(as_gguf)
}

/// The network of a file and its decoder, to be computed as llama.cpp does: with the codes of the file, and activations
/// of 8 bits.
pub(crate) fn load_coded(file: &Gguf<'_>, options: Options) -> Result<(Loaded, Linear)> {
    let load = || {
        let (mut sizes, rope, mut tensors) = outline(file)?;
        let name = if sizes.tied { NAMES.words } else { NAMES.head };
        // the decoder comes apart, as it is coded
        (sizes.tied, tensors.coded) = (true, true);
        let math = options.math(false);
        let loaded = llama::load(&sizes, rope, &NAMES, &tensors, math)?;
        let bias = vec![0.0; sizes.vocab];
        let head = llama::linear(&tensors, &format!("{name}.weight"), bias, sizes.hidden, math)?;
        Ok((loaded, head))
    };
    load().map_err(as_gguf)
}

fn as_gguf(error: Error) -> Error {
    match error {
        Error::Config(why) => Error::Gguf(why),
        other => other,
    }
}

fn outline<'a>(file: &'a Gguf<'a>) -> Result<(Sizes, Rope, Ordered<'a>)> {
    let bad = |why: String| Err(Error::Gguf(why));
    let architecture = file.text("general.architecture")?.unwrap_or_default();
    // the rows of queries and keys of this one are in another order
    let interleaved = match architecture {
        "llama" => true,
        "qwen2" => false,
        other => return bad(format!("architecture `{other}` is not supported")),
    };
    let key = |name: &str| format!("{architecture}.{name}");
    let maybe = |name: &str| -> Result<Option<usize>> {
        Ok(file.whole(&key(name))?.map(|n| usize::try_from(n).unwrap_or(usize::MAX)))
    };
    let size =
        |name: &str| maybe(name)?.ok_or_else(|| Error::Gguf(format!("`{}` is missing", key(name))));
    let hidden = size("embedding_length")?;
    let count = size("attention.head_count")?;
    let width = match maybe("attention.key_length")? {
        Some(width) => width,
        None if count > 0 && hidden.is_multiple_of(count) => hidden / count,
        None => return bad("embedding_length must be a multiple of attention.head_count".into()),
    };
    for name in ["attention.value_length", "rope.dimension_count"] {
        if maybe(name)?.is_some_and(|n| n != width) {
            return bad(format!("`{}` other than a head's width is not supported", key(name)));
        }
    }
    if let Some(other) = file.text(&key("rope.scaling.type"))?.filter(|&kind| kind != "none") {
        return bad(format!("rope.scaling of type `{other}` is not supported"));
    }
    let heads = Heads { count, shared: maybe("attention.head_count_kv")?.unwrap_or(count), width };
    let token = |name: &str| -> Result<Option<u32>> {
        let id = file.whole(&format!("tokenizer.ggml.{name}_token_id"))?;
        Ok(id.and_then(|id| u32::try_from(id).ok()))
    };
    let eps = file.real(&key("attention.layer_norm_rms_epsilon"))?;
    let sizes = Sizes {
        vocab: file.shape("token_embd.weight")?.first().copied().unwrap_or(0),
        hidden,
        wide: size("feed_forward_length")?,
        layers: size("block_count")?,
        heads,
        positions: size("context_length")?,
        eps: eps.ok_or_else(|| Error::Gguf("layer_norm_rms_epsilon is missing".into()))?,
        biases: Biases {
            inward: !interleaved || file.has("blk.0.attn_q.bias"),
            outward: file.has("blk.0.attn_output.bias"),
            wide: file.has("blk.0.ffn_up.bias"),
        },
        tied: !file.has("output.weight"),
        ends: Ends { begin: token("bos")?, end: token("eos")? },
    }
    .check()?;
    let mut rope = Rope::new(file.real(&key("rope.freq_base"))?.unwrap_or(10_000.0), width)?;
    if file.has(FACTORS) {
        let factors = file.get(FACTORS, &[width / 2])?;
        if factors.iter().any(|&factor| factor <= 0.0) {
            return bad(format!("tensor `{FACTORS}` holds a factor that is not positive"));
        }
        rope = rope.divide(&factors);
    }
    Ok((sizes, rope, Ordered { file, width: interleaved.then_some(width), coded: false }))
}

/// Tensors with the rows of queries and keys in the order of Hugging Face: in files of the architecture
/// `llama`, the two columns that are turned together stand side by side in a head and not half a head
/// apart.
struct Ordered<'a> {
    file: &'a Gguf<'a>,
    /// The width of a head whose rows are side by side.
    width: Option<usize>,
    /// Whether matrices stay as they are coded.
    coded: bool,
}

impl Ordered<'_> {
    /// The width of a head, if the rows of this tensor are side by side.
    fn turned(&self, name: &str) -> Option<usize> {
        self.width.filter(|_| name.contains(".attn_q.") || name.contains(".attn_k."))
    }
}

/// Where row `i` of heads of this width stands in the file.
fn place(width: usize, i: usize) -> usize {
    let (head, at) = (i / width, i % width);
    head * width + 2 * (at % (width / 2)) + at / (width / 2)
}

impl Tensors for Ordered<'_> {
    fn coded(&self, name: &str, shape: [usize; 2]) -> Result<Option<CodedWeights>> {
        if !self.coded {
            return Ok(None);
        }
        let turned = self.turned(name);
        self.file.coded(name, shape, |i| turned.map_or(i, |width| place(width, i)))
    }

    fn matrix(&self, name: &str, shape: [usize; 2]) -> Result<Matrix> {
        self.get(name, &shape).map(Matrix::Floats)
    }

    fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let values = self.file.get(name, shape)?;
        let Some(width) = self.turned(name) else { return Ok(values) };
        let columns = values.len() / shape[0];
        let row = |i: usize| &values[place(width, i) * columns..][..columns];
        Ok((0..shape[0]).flat_map(row).copied().collect())
    }
}
