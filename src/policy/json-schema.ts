import type { TSchema } from '@sinclair/typebox';
import type { Plugin } from '../contract/kinds.ts';
import { nullable, SchemaConverter } from './json-schema-convert.ts';
import { definitionOf, rulesOf } from './json-schema-rules.ts';
import { type JsonSchema, type PolicyNames, vocabularyOf } from './json-schema-words.ts';
import { SECTIONS } from './schema.ts';

const NO_NAMES: PolicyNames = {
  models: [],
  providers: [],
  selectors: [],
  aliases: new Map(),
  tasks: [],
  constraints: [],
};

const ABOUT =
  `A file of a Signalbox policy. All files of the folder together are one policy, and each may hold any of the
sections, so nothing is required here. \`./signalbox policy check\` also checks what an editor cannot: names, expressions
and cases.`.replaceAll('\n', ' ');

/**
 * The policy language as a JSON Schema (draft-07) for editors, with the options of plugins, and the policy's own names as
 * completions. It accepts every policy that the loader accepts.
 */
export function policySchema(given: readonly Plugin[], own: PolicyNames = NO_NAMES): JsonSchema {
  // Two plugins with one name are reported elsewhere; the first counts.
  const plugins = [
    ...new Map(given.toReversed().map((plugin) => [definitionOf(plugin), plugin])).values(),
  ].toReversed();
  const converter = new SchemaConverter(vocabularyOf(plugins, own), rulesOf(plugins));
  const sections = Object.entries<TSchema>(SECTIONS).map(([name, schema]): [string, JsonSchema] => {
    const section = converter.convert(schema, name);
    // All entries of a section may be comments.
    return [name, ['object', 'array'].includes(schema.type) ? nullable(section) : section];
  });
  const options = plugins.map((plugin): [string, JsonSchema] => [definitionOf(plugin), converter.options(plugin)]);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'urn:signalbox:policy:1',
    title: 'Signalbox policy',
    description: ABOUT.replaceAll('`', ''),
    markdownDescription: ABOUT,
    type: 'object',
    properties: Object.fromEntries(sections),
    additionalProperties: false,
    definitions: { ...Object.fromEntries(options), ...converter.definitions },
  };
}

/** The text of a schema file. */
export function schemaText(schema: JsonSchema): string {
  return `${JSON.stringify(schema, null, 1)}\n`;
}
