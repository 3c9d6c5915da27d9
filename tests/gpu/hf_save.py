"""Saves a small model with random weights, and a tokenizer for it, in the format of the Hugging Face hub.

    hf_save.py FOLDER
"""
import json
import string
import sys
from pathlib import Path

import transformers

folder = Path(sys.argv[1])
folder.mkdir()
if "fake" in transformers.__version__:
    alphabet = "\0" + string.ascii_letters + " "
    (folder / "config.json").write_text(json.dumps({"vocab_size": len(alphabet), "alphabet": alphabet}))
    sys.exit()

import tokenizers  # noqa: E402

letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
plain = tokenizers.Tokenizer(tokenizers.models.BPE({one: at for at, one in enumerate(letters)}, []))
plain.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
plain.decoder = tokenizers.decoders.ByteLevel()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=plain, eos_token="<end>")
tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
tokenizer.save_pretrained(folder)
config = transformers.LlamaConfig(vocab_size=len(tokenizer), hidden_size=256, intermediate_size=512, num_hidden_layers=4,
                                  num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=2048, bos_token_id=None,
                                  eos_token_id=tokenizer.eos_token_id)
transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
