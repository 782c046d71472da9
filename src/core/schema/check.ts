import type { Static, TSchema } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import type { ValueError } from '@sinclair/typebox/errors';

/**
 * Checks values against a schema. `SchemaCheck` compiles the schema for the first value, so that a server need not compile every schema
 * when it starts.
 */
export class SchemaCheck<T extends TSchema> {
  readonly #schema: T;
  #compiled: TypeCheck<T> | null = null;

  constructor(schema: T) {
    this.#schema = schema;
  }

  accepts(value: unknown): value is Static<T> {
    return this.#check().Check(value);
  }

  /** Returns the first error of a value; undefined if the value is valid. */
  errorOf(value: unknown): ValueError | undefined {
    return this.#check().Errors(value).First();
  }

  #check(): TypeCheck<T> {
    this.#compiled ??= TypeCompiler.Compile(this.#schema);
    return this.#compiled;
  }
}
