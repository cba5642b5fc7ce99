//! Classes that are nothing but values.

/// Declares a frozen class with these attributes, equal by value, that is pickled by them. What it shows of itself is
/// its method `shown`.
macro_rules! record {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, PartialEq)]
        #[pyo3::pyclass(frozen, eq, get_all, from_py_object, module = "cape_dp")]
        pub(crate) struct $name {
            $($(#[$field_about])* pub(crate) $field: $type,)*
        }

        #[pyo3::pymethods]
        impl $name {
            #[new]
            #[allow(clippy::too_many_arguments, reason = "one per attribute")]
            fn new($($field: $type),*) -> Self {
                Self { $($field),* }
            }

            fn __getnewargs__<'py>(
                &self,
                py: pyo3::Python<'py>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::types::PyTuple>> {
                use pyo3::IntoPyObjectExt;
                pyo3::types::PyTuple::new(py, [$(self.$field.clone().into_py_any(py)?),*])
            }

            fn __repr__(&self) -> String {
                self.shown()
            }
        }
    };
}
pub(crate) use record;
