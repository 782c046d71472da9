import Ajv, { type ErrorObject } from 'ajv';
import { parse } from 'yaml';
import type { JsonSchema } from '../../src/policy/json-schema-form.ts';

/** What editors know beyond JSON Schema. */
const OF_EDITORS = [
  'markdownDescription',
  'enumDescriptions',
  'markdownEnumDescriptions',
  'errorMessage',
  'patternErrorMessage',
  'defaultSnippets',
];

/** What a checker of its own finds in the text of a file, by this schema: each as its path and what is wrong there. */
export function checkerOf(schema: JsonSchema, { strict = true } = {}): (text: string) => string[] {
  const ajv = new Ajv({ strict, strictRequired: false, allErrors: true, allowUnionTypes: true });
  ajv.addVocabulary(OF_EDITORS);
  const check = ajv.compile(schema);
  return (text) => {
    const data: unknown = parse(text, { uniqueKeys: false, logLevel: 'silent' });
    if (data === null || check(data)) return [];
    return (check.errors ?? []).filter(({ keyword }) => keyword !== 'if').map(said);
  };
}

function said({ instancePath, message, params }: ErrorObject): string {
  const key: unknown = params.additionalProperty;
  return `${instancePath} ${message}${key === undefined ? '' : `: ${key}`}`;
}
