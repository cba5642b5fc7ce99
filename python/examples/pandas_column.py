"""A column of a pandas table, released: the same word becomes the same in all rows."""

import pandas as pd
import pyarrow as pa

from cape_dp import Cape

table = pd.DataFrame(
    {
        "id": [1, 2, 3],
        "prompt": [
            "My daughter Wojciechowska was diagnosed with asthma.",
            "Please write to Wojciechowska about the rent of 900 dollars.",
            None,
        ],
    }
)
released = Cape(epsilon=8).perturb(table["prompt"])
table["released"] = pa.array(released).to_pandas()
# the originals stay here
print(table[["id", "released"]].to_string(index=False))
