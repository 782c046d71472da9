import { type Edit, pathText } from '../core/json/original.ts';
import { type Capability, FORCED_CALLS, lackingBits } from '../core/request/capability.ts';
import { DROPPABLE_SETTINGS, type DroppableName } from '../core/request/droppable.ts';
import type { FieldNames, ModelRequest } from '../core/request/model-request.ts';

type DroppableNames = ReadonlySet<DroppableName>;

/** Returns the capabilities that a request no longer needs, because the policy drops every field that needs them. */
export function needsDropped(
  request: Pick<ModelRequest, 'settings' | 'conversation'>,
  dropped: DroppableNames,
): number {
  let may = 0;
  let must = 0;
  for (const one of DROPPABLE_SETTINGS) {
    if (!one.isSet(request)) continue;
    if (dropped.has(one.name)) may |= one.bit;
    else must |= one.bit;
  }
  return may & ~must;
}

const NONE: readonly string[] = [];

/**
 * Removes the fields that the policy drops and that the endpoint does not support.
 * @param capabilities of the endpoint
 * @returns the request in the form that the endpoint accepts, and the caller's names of the removed fields
 */
export function withoutUnsupported(request: ModelRequest, capabilities: number, dropped: DroppableNames) {
  const lost = DROPPABLE_SETTINGS.filter(
    (one) => (capabilities & one.bit) === 0 && dropped.has(one.name) && one.isSet(request),
  );
  if (lost.length === 0) return { request, dropped: NONE };
  const { names } = request;
  const edits: Edit[] = [];
  const stated: string[] = [];
  for (const { setting, name } of lost) {
    for (const field of setting === 'logprobs' ? [names.logprobs, names.topLogprobs] : [names[setting]]) {
      const at = field.split('.');
      const value = request.originalAt(at);
      const others = Array.isArray(value) ? withoutMember(value, name) : null;
      edits.push({ at, value: others?.left });
      if (value !== undefined && others?.at !== -1) stated.push(others ? pathText([...at, others.at]) : field);
    }
  }
  return { request: request.edit(edits), dropped: stated };
}

/** Removes only the entry that ends in the given name from a list of options, such as `include` of Responses. */
function withoutMember(list: readonly unknown[], name: string) {
  const isMember = (one: unknown): boolean => String(one).endsWith(`.${name}`);
  const left = list.filter((one) => !isMember(one));
  return { at: list.findIndex(isMember), left: left.length > 0 ? left : undefined };
}

/** A field of a request that not every model accepts. */
export interface NeededField {
  /** The name that the caller uses for the field. */
  readonly name: string;
  /** Bits of `CAPABILITIES` that the field may need. */
  readonly bits: number;
  /** The field's name in `gateway.drop_unsupported`; null for a field that is never dropped. */
  readonly droppable: DroppableName | null;
}

/** Fields that are never dropped, and the capabilities that a model needs for them. */
const FIRM: readonly (readonly [field: keyof FieldNames, needs: readonly Capability[]])[] = [
  ['choices', ['choices']],
  ['temperature', ['high_temperature']],
  ['tools', ['tools']],
  ['toolChoice', FORCED_CALLS],
  ['answerFormat', ['json_schema', 'json_mode', 'json_with_tools']],
];

/** Returns the fields of a request that need capabilities. @param needs the capabilities that the request needs */
export function neededFields(request: ModelRequest, needs: number): NeededField[] {
  const { names } = request;
  const firm = FIRM.map(([field, of]) => ({ name: names[field], bits: lackingBits(of), droppable: null }));
  const soft = DROPPABLE_SETTINGS.filter((one) => one.isSet(request)).map(({ setting, bit, name }) => ({
    name: names[setting],
    bits: bit,
    droppable: name,
  }));
  return [...soft, ...firm].filter(
    ({ name, bits }) => (bits & needs) !== 0 && request.originalAt(name.split('.')) !== undefined,
  );
}
