//! Reading GGUF files: metadata and tensors, all of it checked before it is believed.
//!
//! A count or a length in the file is compared with the bytes that are left before anything is read or
//! allocated by it; values that are returned point into the file.

use std::collections::HashMap;

use cape_kernels::{BLOCK, CodedWeights};

use super::quant::NumberType;
use crate::error::{Error, Result};

/// The first bytes of a GGUF file.
pub(crate) const MAGIC: &[u8] = b"GGUF";

/// Tensors lie at multiples of this, unless the file says otherwise.
const ALIGNMENT: u64 = 32;

/// A file whose metadata was read; the numbers of its tensors are read on request.
pub(crate) struct Gguf<'a> {
    metadata: HashMap<&'a str, Value<'a>>,
    tensors: HashMap<&'a str, Tensor<'a>>,
}

/// A value of the metadata.
#[derive(Clone, Copy)]
enum Value<'a> {
    Whole(u64),
    Negative,
    Real(f64),
    Bool,
    Text(&'a [u8]),
    Array { kind: u32, len: usize, bytes: &'a [u8] },
}

/// A tensor.
struct Tensor<'a> {
    /// Its shape, the rows first: the file has it the other way round.
    shape: Vec<usize>,
    kind: std::result::Result<NumberType, u32>,
    bytes: &'a [u8],
}

impl<'a> Gguf<'a> {
    /// From the bytes of a file.
    pub(crate) fn new(file: &'a [u8]) -> Result<Self> {
        let mut at = Reader { left: file };
        if at.take(4)? != MAGIC {
            return Err(bad("it does not begin with GGUF"));
        }
        let version = at.u32()?;
        if !(2..=3).contains(&version) {
            return Err(bad(format!("version {version} is not supported, only 2 and 3")));
        }
        let (tensors, entries) = (at.u64()?, at.u64()?);
        let mut metadata = HashMap::new();
        for _ in 0..entries {
            let key = at.name()?;
            let kind = at.u32()?;
            if metadata.insert(key, at.value(kind)?).is_some() {
                return Err(bad(format!("`{key}` appears twice")));
            }
        }
        let mut this = Self { metadata, tensors: HashMap::new() };
        let alignment = this.whole("general.alignment")?.unwrap_or(ALIGNMENT);
        if !alignment.is_power_of_two() {
            return Err(bad("general.alignment is not a power of two"));
        }
        let mut headers = Vec::new();
        for _ in 0..tensors {
            headers.push(at.header()?);
        }
        let read = (file.len() - at.left.len()) as u64;
        let data = read.checked_next_multiple_of(alignment).and_then(|n| usize::try_from(n).ok());
        let data = data.and_then(|n| file.get(n..)).unwrap_or_default();
        headers.sort_by_key(|header| header.offset);
        let mut free = 0;
        for Header { name, shape, kind, offset } in headers {
            let beyond = || bad(format!("tensor `{name}` lies outside the file or over another"));
            let kind = NumberType::of(kind).ok_or(kind);
            // a tensor of an unsupported type matters only where it is asked for
            let len = match kind {
                Ok(kind) => bytes(&shape, kind)
                    .ok_or_else(|| bad(format!("tensor `{name}` has no rows of whole blocks")))?,
                Err(_) => 0,
            };
            let start = usize::try_from(offset).ok().filter(|&n| n >= free).ok_or_else(beyond)?;
            let end = start.checked_add(len).ok_or_else(beyond)?;
            let bytes = data.get(start..end).ok_or_else(beyond)?;
            if !offset.is_multiple_of(alignment) {
                return Err(bad(format!("tensor `{name}` is not aligned")));
            }
            free = end;
            if this.tensors.insert(name, Tensor { shape, kind, bytes }).is_some() {
                return Err(bad(format!("tensor `{name}` appears twice")));
            }
        }
        Ok(this)
    }

    /// Whether there is a tensor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The shape of a tensor.
    pub(crate) fn shape(&self, name: &str) -> Result<&[usize]> {
        self.tensor(name).map(|tensor| &tensor.shape[..])
    }

    /// The tensor of this name as f32; its shape must be the one given, its values finite.
    pub(crate) fn get(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let tensor = self.shaped(name, shape)?;
        let kind = tensor.kind.map_err(|number| Error::Dtype {
            name: name.to_owned(),
            dtype: format!("GGUF type {number}"),
        })?;
        let values = kind.widen(tensor.bytes);
        if values.iter().all(|value| value.is_finite()) {
            Ok(values)
        } else {
            Err(Error::NotFinite(name.to_owned()))
        }
    }

    /// The matrix of this name as it is coded, where the kernels know its coding; `place` tells where each row stands in the
    /// file.
    pub(crate) fn coded(
        &self,
        name: &str,
        shape: [usize; 2],
        place: impl Fn(usize) -> usize + Sync,
    ) -> Result<Option<CodedWeights>> {
        let tensor = self.shaped(name, &shape)?;
        let [outputs, inputs] = shape;
        let Some((kind, (coding, read))) =
            tensor.kind.ok().and_then(|kind| Some((kind, kind.coding()?)))
        else {
            return Ok(None);
        };
        let (_, size) = kind.block();
        let blocks = inputs / BLOCK;
        let block = |output: usize, at: usize| {
            read(&tensor.bytes[(place(output) * blocks + at) * size..][..size])
        };
        let weights = CodedWeights::new(coding, outputs, inputs, block);
        if weights.is_finite() { Ok(Some(weights)) } else { Err(Error::NotFinite(name.to_owned())) }
    }

    /// The tensor of this name, which must have this shape.
    fn shaped(&self, name: &str, shape: &[usize]) -> Result<&Tensor<'a>> {
        let tensor = self.tensor(name)?;
        if tensor.shape != shape {
            let found = &tensor.shape;
            return Err(bad(format!("tensor `{name}` has shape {found:?}, not {shape:?}")));
        }
        Ok(tensor)
    }

    fn tensor(&self, name: &str) -> Result<&Tensor<'a>> {
        self.tensors.get(name).ok_or_else(|| bad(format!("it has no tensor `{name}`")))
    }

    /// A whole number of the metadata, where it is there.
    pub(crate) fn whole(&self, key: &str) -> Result<Option<u64>> {
        match self.metadata.get(key) {
            None => Ok(None),
            Some(Value::Whole(n)) => Ok(Some(*n)),
            Some(_) => Err(bad(format!("`{key}` is not a whole number"))),
        }
    }

    /// A number of the metadata, where it is there.
    pub(crate) fn real(&self, key: &str) -> Result<Option<f32>> {
        match self.metadata.get(key) {
            None => Ok(None),
            Some(Value::Real(x)) => Ok(Some(*x as f32)),
            Some(_) => Err(bad(format!("`{key}` is not a number with a fraction"))),
        }
    }

    /// A text of the metadata, where it is there.
    pub(crate) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        match self.metadata.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => utf8(text, key).map(Some),
            Some(_) => Err(bad(format!("`{key}` is not a text"))),
        }
    }

    /// A list of texts of the metadata, where it is there.
    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<&'a str>>> {
        match self.metadata.get(key) {
            None => Ok(None),
            Some(&Value::Array { kind: TEXT, len, bytes }) => {
                let mut at = Reader { left: bytes };
                (0..len).map(|_| utf8(at.bytes()?, key)).collect::<Result<_>>().map(Some)
            }
            Some(_) => Err(bad(format!("`{key}` is not a list of texts"))),
        }
    }

    /// A list of whole numbers of 32 bits, where it is there.
    pub(crate) fn numbers(&self, key: &str) -> Result<Option<Vec<i32>>> {
        match self.metadata.get(key) {
            None => Ok(None),
            Some(&Value::Array { kind: 4 | 5, bytes, .. }) => {
                Ok(Some(bytes.as_chunks().0.iter().map(|&b| i32::from_le_bytes(b)).collect()))
            }
            Some(_) => Err(bad(format!("`{key}` is not a list of numbers"))),
        }
    }
}

/// How many bytes a tensor has; `None` where its rows are not whole blocks, or it has no numbers.
fn bytes(shape: &[usize], kind: NumberType) -> Option<usize> {
    let (numbers, bytes) = kind.block();
    let row = *shape.last()?;
    let all = shape.iter().try_fold(1_usize, |all, &n| all.checked_mul(n))?;
    (all > 0 && row.is_multiple_of(numbers)).then_some(())?;
    (all / numbers).checked_mul(bytes)
}

fn bad(why: impl Into<String>) -> Error {
    Error::Gguf(why.into())
}

fn utf8<'a>(bytes: &'a [u8], key: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|_| bad(format!("`{key}` is not UTF-8")))
}

/// A tensor's entry in the file.
struct Header<'a> {
    name: &'a str,
    shape: Vec<usize>,
    kind: u32,
    offset: u64,
}

/// The types of metadata that are not plain numbers.
const BOOL: u32 = 7;
const TEXT: u32 = 8;
const ARRAY: u32 = 9;

/// The rest of the file.
struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(n).ok_or_else(|| bad("it is cut off"))?;
        self.left = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, left) = self.left.split_first_chunk().ok_or_else(|| bad("it is cut off"))?;
        self.left = left;
        Ok(*taken)
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Bytes after their number.
    fn bytes(&mut self) -> Result<&'a [u8]> {
        let n = self.u64()?;
        self.take(usize::try_from(n).unwrap_or(usize::MAX))
    }

    fn name(&mut self) -> Result<&'a str> {
        utf8(self.bytes()?, "a name")
    }

    fn value(&mut self, kind: u32) -> Result<Value<'a>> {
        let signed = |n: i64| u64::try_from(n).map_or(Value::Negative, Value::Whole);
        Ok(match kind {
            0 => Value::Whole(u8::from_le_bytes(self.array()?).into()),
            1 => signed(i8::from_le_bytes(self.array()?).into()),
            2 => Value::Whole(u16::from_le_bytes(self.array()?).into()),
            3 => signed(i16::from_le_bytes(self.array()?).into()),
            4 => Value::Whole(self.u32()?.into()),
            5 => signed(i32::from_le_bytes(self.array()?).into()),
            6 => Value::Real(f32::from_le_bytes(self.array()?).into()),
            BOOL => self.array::<1>().map(|_| Value::Bool)?,
            TEXT => Value::Text(self.bytes()?),
            ARRAY => {
                let (kind, len) = (self.u32()?, self.u64()?);
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                let from = self.left;
                if kind == TEXT {
                    // each takes at least eight bytes, so that too large a number soon reaches the end
                    for _ in 0..len {
                        self.bytes()?;
                    }
                } else {
                    let size = width(kind).and_then(|width| width.checked_mul(len));
                    self.take(size.ok_or_else(|| bad("a list has an unknown type"))?)?;
                }
                Value::Array { kind, len, bytes: &from[..from.len() - self.left.len()] }
            }
            10 => Value::Whole(self.u64()?),
            11 => signed(i64::from_le_bytes(self.array()?)),
            12 => Value::Real(f64::from_le_bytes(self.array()?)),
            other => return Err(bad(format!("metadata of type {other} is not supported"))),
        })
    }

    fn header(&mut self) -> Result<Header<'a>> {
        let name = self.name()?;
        let dims = self.u32()?;
        if !(1..=4).contains(&dims) {
            return Err(bad(format!("tensor `{name}` has {dims} dimensions")));
        }
        let large = |_| bad(format!("tensor `{name}` is too large"));
        let mut shape = Vec::with_capacity(4);
        for _ in 0..dims {
            shape.push(usize::try_from(self.u64()?).map_err(large)?);
        }
        shape.reverse();
        Ok(Header { name, shape, kind: self.u32()?, offset: self.u64()? })
    }
}

/// The bytes of a plain number or a bool of the metadata.
fn width(kind: u32) -> Option<usize> {
    Some(match kind {
        0 | 1 | BOOL => 1,
        2 | 3 => 2,
        4..=6 => 4,
        10..=12 => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_widened_as_llama_cpp_does() {
        let bytes = include_bytes!("../../../../fixtures/quants.gguf");
        let file = Gguf::new(bytes).unwrap();
        let kinds = [
            NumberType::F16,
            NumberType::BF16,
            NumberType::Q8_0,
            NumberType::Q4_0,
            NumberType::Q4_1,
            NumberType::Q5_0,
            NumberType::Q5_1,
            NumberType::Q4_K,
            NumberType::Q5_K,
            NumberType::Q6_K,
        ];
        assert_eq!(file.tensors.len(), 2 * kinds.len());
        for kind in kinds {
            let name = format!("{kind:?}").to_lowercase();
            assert!(file.tensor(&name).unwrap().kind == Ok(kind), "{name}");
            let shape = file.shape(&name).unwrap();
            let got = file.get(&name, shape).unwrap();
            let wanted = file.get(&format!("{name}.wanted"), shape).unwrap();
            assert!(wanted.iter().any(|x| x.abs() > 0.1) && got.len() >= 128);
            // one rounding more or less: products of three are not taken in the same order
            for (got, wanted) in got.iter().zip(&wanted) {
                assert!((got - wanted).abs() <= 1e-6 * wanted.abs(), "{name}: {got} {wanted}");
            }
        }
    }

    #[test]
    fn codes_mean_the_same_numbers() {
        let bytes = include_bytes!("../../../../fixtures/quants.gguf");
        let file = Gguf::new(bytes).unwrap();
        for (name, parts) in [("q4_k", 8), ("q6_k", 16)] {
            let tensor = file.tensor(name).unwrap();
            let kind = tensor.kind.unwrap();
            let (coding, read) = kind.coding().unwrap();
            assert_eq!(coding.parts(), parts);
            let (numbers, size) = kind.block();
            let blocks = tensor.bytes.chunks_exact(size).map(read);
            let got = blocks.flat_map(|block| {
                (0..numbers).map(move |i| {
                    let part = i / (numbers / parts);
                    block.scale * f32::from(block.scales[part]) * f32::from(block.codes[i])
                        - block.offset * f32::from(block.offsets[part])
                })
            });
            let got: Vec<f32> = got.collect();
            let want = kind.widen(tensor.bytes);
            assert!(got.len() == want.len() && got.iter().any(|v| v.abs() > 0.1));
            for (got, want) in got.iter().zip(&want) {
                assert!((got - want).abs() < 1e-5, "{name}: {got} {want}");
            }
        }
        let [outputs, inputs] = file.shape("q8_0").unwrap() else { panic!() };
        assert!(file.coded("q8_0", [*outputs, *inputs], |row| row).unwrap().is_none());
    }
}
