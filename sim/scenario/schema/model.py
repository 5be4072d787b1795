"""Keys of models: which may answer a class, how they count its tokens, and models of the user's own."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from sim.scenario.schema.fields import FileName, Keys, ModelName, Name


def key(meaning: str, unit: str = "", example: Any = None, **more: Any) -> Any:
    """A field whose `meaning`, unit and example feed messages and the reference."""
    extra = {"unit": unit, "example": example}
    return Field(description=meaning, json_schema_extra=extra, **more)


Factor = Annotated[float, Field(ge=0.05, le=50)]


class ModelUse(Keys):
    """A model that may answer a class, with what it makes of the class's token counts. Its name alone means factors of 1."""

    name: ModelName = key("model of the catalogue, of a relay, or of `models`", "", "gpt-4.1")
    input_token_factor: Factor = key("its input tokens per token of the class: tokenizer, language", "", default=1.0)
    output_token_factor: Factor = key("its output tokens per token of the class: tokenizer, verbosity, thinking", "", default=1.0)


class OwnModel(Keys):
    """A model that the catalogue lacks, read from the `config.json` that comes with its weights (Hugging Face format)."""

    name: Name = key("how `request_classes` name it", "", "my-model")
    config: FileName = key("config.json or the folder that holds it, relative to the scenario file", "", "my-model/config.json")


def _form(value: Any) -> str:
    return "«row»" if isinstance(value, dict) else "«name»"


ModelEntry = Annotated[Annotated[ModelName, Tag("«name»")] | Annotated[ModelUse, Tag("«row»")], Discriminator(_form)]
