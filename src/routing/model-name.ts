import type { Caller } from '../core/caller.ts';
import { editDistance } from '../core/edit-distance.ts';
import { SignalboxError } from '../core/errors.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';

/** Whether `name` is a model, not a selector. @throws SignalboxError where it is neither, or the key may not use it. */
export function isPinned(name: string, caller: Caller, snapshot: PolicySnapshot): boolean {
  if (snapshot.selectors.has(name)) return false;
  if (!snapshot.modelIndex.has(name)) throw unknownName(name, caller, snapshot);
  if (caller.models !== null && !caller.models.has(name)) {
    throw new SignalboxError('insufficient_permissions', `This API key may not use the model \`${name}\`.`, {
      param: 'model',
    });
  }
  return true;
}

function unknownName(name: string, caller: Caller, snapshot: PolicySnapshot): SignalboxError {
  const absent = snapshot.leftOut.find((item) => item.kind === 'model' && item.name === name);
  if (absent) {
    const why = (caller.scopes.has('admin') ? absent.reason : absent.toCallers) ?? 'it is left out';
    const message = `The model \`${name}\` is in the policy but cannot be served: ${why}.`;
    return new SignalboxError('model_not_found', message, { param: 'model' });
  }
  const selectors = [...snapshot.selectors.keys()];
  const models = [...snapshot.modelIndex.keys()].filter((id) => caller.models?.has(id) ?? true);
  const meant = similarName(name, [...selectors, ...models]);
  const hint = meant === null ? '' : ` Did you mean \`${meant}\`?`;
  const message = `There is no model or selector \`${name}\`.${hint} Selectors are ${selectors.join(', ')}; GET /v1/models lists all models.`;
  return new SignalboxError('model_not_found', message, { param: 'model' });
}

/** Edits of a mistyped name at most. */
const EDITS_MAX = 2;

/** The known name that a mistyped one stands for: another provider in front, capitals and separators do not count. */
export function similarName(name: string, known: Iterable<string>): string | null {
  const written = plainName(name);
  let best: string | null = null;
  let bestDistance = EDITS_MAX + 1;
  for (const candidate of known) {
    const other = plainName(candidate);
    // Another version is another model, not a typing error.
    if (Math.abs(other.length - written.length) >= bestDistance || digitsOf(other) !== digitsOf(written)) continue;
    const distance = editDistance(written, other);
    if (distance < bestDistance && distance < other.length / 2) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

const plainName = (name: string): string =>
  name
    .slice(name.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');

const digitsOf = (name: string): string => name.replace(/\D/g, '');
