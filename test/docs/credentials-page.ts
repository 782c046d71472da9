import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withPart } from '../../bench/page.ts';
import type { SourceKind } from '../../src/host/credentials/source.ts';
import { SOURCES } from '../../src/host/credentials/sources.ts';
import { code, typeName } from './schema-words.ts';

export const CREDENTIALS_PAGE = 'docs/operate/credentials.md';

/** Makes the lists of the keys of each kind of token source. */
export const credentialsPage = (): string =>
  SOURCES.reduce(
    (page, kind) => withPart(page, kind.name, keysOf(kind)),
    readFileSync(join(import.meta.dir, '../..', CREDENTIALS_PAGE), 'utf8'),
  );

/** Lists the keys of a kind, without those that all kinds have. */
const keysOf = ({ text: { properties, required = [] } }: SourceKind): string =>
  Object.entries(properties)
    .filter(([name]) => name !== 'source' && name !== 'hosts')
    .map(([name, schema]) => {
      const { default: usual, description = '' } = schema;
      const need = required.includes(name) && usual === undefined ? 'required' : 'optional';
      const end = usual === undefined ? '' : ` Default: ${code(usual)}.`;
      return `- ${code(name)} (${typeName(schema)}, ${need}): ${description}${end}`;
    })
    .join('\n');
