"""Language models as recorded data: one protocol, every answer kept, replay without a model."""
