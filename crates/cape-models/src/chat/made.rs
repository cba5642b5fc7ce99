//! A small GGUF file with a chat model that knows nothing, coded as large ones are.

/// The tokens after one for each byte: three that control the model, and one added to its words.
pub(crate) const MARKS: [&str; 4] = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<tool_call>"];

/// ChatML, with an instruction for prompts that have none.
pub(crate) const TEMPLATE: &str = "{% if messages[0].role != 'system' %}<|im_start|>system\nBe brief.<|im_end|>\n{% endif %}\
     {% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}\
     {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

const HIDDEN: u64 = 256;

/// The types of values in a file, and of its tensors.
const U32: u32 = 4;
const I32: u32 = 5;
const REAL: u32 = 6;
const TEXT: u32 = 8;
const ARRAY: u32 = 9;
const F32: u32 = 0;
const Q4_K: u32 = 12;
const Q6_K: u32 = 14;

/// The bytes of the file, of this architecture, with this template if any.
pub(crate) fn gguf(architecture: &str, template: Option<&str>) -> Vec<u8> {
    let key = |name: &str| format!("{architecture}.{name}");
    let mut tokens: Vec<String> = (0..=255).map(written).collect();
    tokens.extend(MARKS.map(str::to_owned));
    let vocab = tokens.len() as u64;
    let kinds: Vec<i32> = (0..tokens.len())
        .map(|id| {
            if id < 256 {
                1
            } else if id < 259 {
                3
            } else {
                4
            }
        })
        .collect();
    let mut entries: Vec<(String, Vec<u8>)> = vec![
        ("general.architecture".into(), text(architecture)),
        (key("block_count"), whole(2)),
        (key("context_length"), whole(128)),
        (key("embedding_length"), whole(HIDDEN as u32)),
        (key("feed_forward_length"), whole(512)),
        (key("attention.head_count"), whole(4)),
        (key("attention.head_count_kv"), whole(2)),
        (key("attention.layer_norm_rms_epsilon"), value(REAL, &1e-6_f32.to_le_bytes())),
        ("tokenizer.ggml.model".into(), text("gpt2")),
        ("tokenizer.ggml.pre".into(), text("qwen2")),
        ("tokenizer.ggml.tokens".into(), list(TEXT, tokens.iter().map(|token| bytes(token)))),
        ("tokenizer.ggml.merges".into(), list(TEXT, std::iter::empty())),
        (
            "tokenizer.ggml.token_type".into(),
            list(I32, kinds.iter().map(|kind| kind.to_le_bytes().to_vec())),
        ),
        ("tokenizer.ggml.eos_token_id".into(), whole(257)),
    ];
    entries.extend(template.map(|template| ("tokenizer.chat_template".into(), text(template))));
    let mut tensors: Vec<(String, Vec<u64>, u32)> = vec![
        ("token_embd.weight".into(), vec![HIDDEN, vocab], Q6_K),
        ("output_norm.weight".into(), vec![HIDDEN], F32),
    ];
    for layer in 0..2 {
        for (part, shape, kind) in [
            ("attn_norm.weight", vec![HIDDEN], F32),
            ("attn_q.weight", vec![HIDDEN, 256], Q4_K),
            ("attn_q.bias", vec![256], F32),
            ("attn_k.weight", vec![HIDDEN, 128], Q4_K),
            ("attn_k.bias", vec![128], F32),
            ("attn_v.weight", vec![HIDDEN, 128], Q6_K),
            ("attn_v.bias", vec![128], F32),
            ("attn_output.weight", vec![256, HIDDEN], Q4_K),
            ("ffn_norm.weight", vec![HIDDEN], F32),
            ("ffn_gate.weight", vec![HIDDEN, 512], Q4_K),
            ("ffn_up.weight", vec![HIDDEN, 512], Q4_K),
            ("ffn_down.weight", vec![512, HIDDEN], Q6_K),
        ] {
            tensors.push((format!("blk.{layer}.{part}"), shape, kind));
        }
    }
    let mut file = b"GGUF".to_vec();
    file.extend(3_u32.to_le_bytes());
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((entries.len() as u64).to_le_bytes());
    for (key, value) in entries {
        file.extend(bytes(&key));
        file.extend(value);
    }
    let (mut data, mut random) = (Vec::new(), Random(7));
    for (name, shape, kind) in tensors {
        file.extend(bytes(&name));
        file.extend((shape.len() as u32).to_le_bytes());
        file.extend(shape.iter().flat_map(|n| n.to_le_bytes()));
        file.extend(kind.to_le_bytes());
        file.extend((data.len() as u64).to_le_bytes());
        let numbers: u64 = shape.iter().product();
        match kind {
            Q4_K => (0..numbers / 256).for_each(|_| random.four(&mut data)),
            Q6_K => (0..numbers / 256).for_each(|_| random.six(&mut data)),
            _ => {
                let norm = name.contains("norm");
                let number = |random: &mut Random| {
                    let part = f32::from(random.byte()) / 256.0 - 0.5;
                    if norm { 1.0 + part } else { part }
                };
                (0..numbers).for_each(|_| data.extend(number(&mut random).to_le_bytes()));
            }
        }
        data.resize(data.len().next_multiple_of(32), 0);
    }
    file.resize(file.len().next_multiple_of(32), 0);
    file.extend(data);
    file
}

/// Bytes of a simple generator.
struct Random(u64);

impl Random {
    fn byte(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 56) as u8
    }

    /// A block of 256 numbers of 4 bits: its scale and that of its offsets, then random bits.
    fn four(&mut self, data: &mut Vec<u8>) {
        data.extend(half::f16::from_f32(4e-4).to_le_bytes());
        data.extend(half::f16::from_f32(3e-3).to_le_bytes());
        data.extend((0..140).map(|_| self.byte()));
    }

    /// A block of 256 numbers of 6 bits: random bits, and its scale.
    fn six(&mut self, data: &mut Vec<u8>) {
        data.extend((0..208).map(|_| self.byte()));
        data.extend(half::f16::from_f32(4e-5).to_le_bytes());
    }
}

/// A byte as byte-level vocabularies write it.
fn written(byte: u32) -> String {
    let code = match byte {
        0..=32 => 256 + byte,
        127..=160 => 289 + byte - 127,
        173 => 323,
        printable => printable,
    };
    char::from_u32(code).unwrap().into()
}

fn bytes(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

fn value(kind: u32, bytes: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], bytes].concat()
}

fn text(text: &str) -> Vec<u8> {
    value(TEXT, &bytes(text))
}

fn whole(number: u32) -> Vec<u8> {
    value(U32, &number.to_le_bytes())
}

fn list(kind: u32, values: impl ExactSizeIterator<Item = Vec<u8>>) -> Vec<u8> {
    let len = (values.len() as u64).to_le_bytes();
    let values: Vec<u8> = values.flatten().collect();
    value(ARRAY, &[&kind.to_le_bytes()[..], &len, &values].concat())
}
