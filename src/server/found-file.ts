import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { orNull, word } from '../core/define/fields.ts';
import { parseJson } from '../core/json/object.ts';
import { OPERATION_NAMES } from '../core/kinds/operations.ts';
import { CAPABILITY_NAMES } from '../core/request/capability.ts';
import { SchemaCheck } from '../core/schema/check.ts';
import { messageOf } from '../core/thrown.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { KeptModels } from '../policy/runtime/discovery/model-servers.ts';

const tokens = Type.Integer({ minimum: 1 });
const name = Type.String({ minLength: 1, maxLength: 1_024 });
const FoundFile = Type.Object({
  servers: Type.Array(
    Type.Object({
      provider: name,
      origin: Type.String(),
      server: Type.Object({
        provider: name,
        models: Type.Array(
          Type.Object({
            upstream: name,
            name,
            contextWindow: tokens,
            isContextGuessed: Type.Boolean(),
            parameters: orNull(Type.Number({ minimum: 0 })),
            capabilities: Type.Array(word(CAPABILITY_NAMES, 'A feature of the model.')),
            operation: word(OPERATION_NAMES, 'What it can do.'),
            inserts: Type.Optional(Type.Boolean()),
            dimensions: orNull(tokens),
            since: Type.Number(),
          }),
        ),
        names: Type.Union([Type.Array(name), Type.Null()]),
        digests: Type.Array(Type.Tuple([name, name])),
      }),
      contexts: Type.Array(Type.Tuple([Type.String(), tokens])),
    }),
  ),
  used: Type.Array(name),
});

const check = new SchemaCheck(FoundFile);

/** A file that is larger than this was not written by Signalbox, bytes. */
const BYTES_MAX = 16_777_216;

const fileIn = (data: string): string => join(data, 'found-models.json');

/** Reads the models that were found before the last stop. A file that is missing, damaged or of another version counts as no file. */
export function readFound(data: string): KeptModels | null {
  try {
    const file = fileIn(data);
    const found = statSync(file);
    if (!found.isFile() || found.size > BYTES_MAX) return null;
    const content: unknown = parseJson(readFileSync(file, 'utf8'));
    return check.accepts(content) ? kept(content) : null;
  } catch {
    return null;
  }
}

const kept = (content: Static<typeof FoundFile>): KeptModels => content;

/**
 * Returns a function that writes the found models into the data folder. If the folder cannot be written, the found models stay in memory,
 * and one warning says so.
 */
export function foundWriter(data: string, log: Log): (models: KeptModels) => void {
  let isWarned = false;
  return (models) => {
    try {
      const file = fileIn(data);
      writeFileSync(`${file}.new`, JSON.stringify(models), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch (cause) {
      if (!isWarned) {
        log.warn('found models cannot be kept for the next start', { reason: messageOf(cause) });
      }
      isWarned = true;
    }
  };
}
