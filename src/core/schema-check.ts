import type { Static, TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import type { ValueError } from '@sinclair/typebox/errors';

/** Checks values against a schema, which is compiled for the first of them: a server starts without most of its schemas. */
export class SchemaCheck<T extends TSchema> {
  readonly #schema: T;
  #compiled: TypeCheck<T> | null = null;

  constructor(schema: T) {
    this.#schema = schema;
  }

  accepts(value: unknown): value is Static<T> {
    return this.#check().Check(value);
  }

  /** The first error of a value that is not accepted. */
  errorOf(value: unknown): ValueError | undefined {
    return this.#check().Errors(value).First();
  }

  #check(): TypeCheck<T> {
    this.#compiled ??= TypeCompiler.Compile(this.#schema);
    return this.#compiled;
  }
}
