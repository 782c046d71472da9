import Ajv, { type ErrorObject } from 'ajv';
import { parse } from 'yaml';
import type { JsonSchema } from '../../src/policy/json-schema.ts';

/** Makes a function that checks the text of a file with Ajv, and returns each error as its path and message. */
export function checkerOf(schema: JsonSchema, { strict = true } = {}): (text: string) => string[] {
  const ajv = new Ajv({ strict, strictRequired: false, strictTypes: false, allErrors: true });
  // Keywords for editors that are not part of JSON Schema.
  ajv.addVocabulary(['markdownDescription', 'errorMessage']);
  const check = ajv.compile(schema);
  return (text) => {
    const data: unknown = parse(text, { uniqueKeys: false, logLevel: 'silent' });
    if (data === null || check(data)) return [];
    return (check.errors ?? []).filter(({ keyword }) => keyword !== 'if').map(errorText);
  };
}

function errorText({ instancePath, message, params }: ErrorObject): string {
  const key: unknown = params.additionalProperty;
  return `${instancePath} ${message}${key === undefined ? '' : `: ${key}`}`;
}
