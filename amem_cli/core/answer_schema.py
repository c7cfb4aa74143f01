"""The closed subset of JSON schema in which models are asked, as a grammar and as a check.

The subset: `object` (all properties required, in order, nothing else), `array` (`minItems`,
`maxItems`), `string` (`enum` of plain ASCII words, or `minLength`/`maxLength` and optional
`x-sentence`), `number` of 0..1 with one decimal, `boolean`. llama.cpp's own schema conversion is not
used: it ignores bounds, allows raw control characters and falls back to no schema at all.
"""
