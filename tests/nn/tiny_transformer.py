"""A transformer of a few weights on disk, with pieces of its own."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch


def write_transformer(path: Path, kind: str = "Bert", **options: Any) -> Path:
    """Write one of a kind to a folder, which is returned; needs the package transformers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import transformers
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "sea", "sun", "is", "hot", "s", "##u", "##n", "of", "blue"]
    tokeniser = Tokenizer(WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokeniser.pre_tokenizer = Whitespace()
    tokeniser.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", words.index("[CLS]")), ("[SEP]", words.index("[SEP]"))]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokeniser, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(path)
    torch.manual_seed(0)
    known = {
        "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16,
        "max_position_embeddings": 20,
    }  # fmt: skip
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(words), **known | options)
    getattr(transformers, f"{kind}Model")(config).save_pretrained(path)
    return path
