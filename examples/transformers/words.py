"""A tokenizer that needs no download, and a decoder that turns tokens into text as they come."""


class ByteTokenizer:
    """A token is a byte of UTF-8. For models with random weights. Has the same two methods as a tokenizer of transformers."""

    count = 256
    chat_template = None

    def encode(self, text):
        return list(text.encode("utf-8"))

    def decode(self, ids, skip_special_tokens=True):
        return bytes(ids).decode("utf-8", "replace")


class TextDecoder:
    """Turns new tokens into new text.

    Tokens can't be decoded one by one: a character may need several tokens, and some tokenizers put a space before a word
    only if another word comes first. So the last tokens that were shown are decoded again, with and without the new ones.
    """

    patience = 8  # tokens to wait for the rest of a character; none needs more

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.shown, self.new = [], []

    def take(self, ids):
        """Returns the new text. Empty while a character is not complete."""
        self.new += ids
        text = self._new_text()
        if text.endswith("\ufffd") and len(self.new) < self.patience:
            return ""
        if text:
            self.shown, self.new = self.new, []
        return text

    def rest(self):
        """Returns, at the end, the text of a character that was never completed."""
        return self._new_text()

    def _new_text(self):
        known = self.tokenizer.decode(self.shown, skip_special_tokens=True)
        return self.tokenizer.decode(self.shown + self.new, skip_special_tokens=True)[len(known):]
