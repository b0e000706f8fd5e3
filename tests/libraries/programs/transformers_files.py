"""Every file of transformers' models is imported: which cannot be, and how many classes of models there are."""

import importlib
from pathlib import Path

import transformers

folder = Path(transformers.__file__).parent
files = sorted(folder.glob("models/*/modeling_*.py"))
count = 0
for file in files:
    name = ".".join(["transformers", *file.relative_to(folder).with_suffix("").parts])
    try:
        module = importlib.import_module(name)
    except Exception as error:  # what another library or PyTorch itself does not have
        print(name, type(error).__name__, *str(error).split("\n")[:1])
    else:
        own = vars(module).values()
        count += sum(isinstance(each, type) and each.__module__ == name for each in own)
print(len(files), "files", count, "classes")
