import { REJECTIONS, type Refusal } from '../core/decision/decision.ts';
import { OPERATIONS } from '../core/kinds/operations.ts';
import type { Model, PolicySnapshot } from '../core/policy/snapshot.ts';
import {
  CAPABILITIES,
  capabilityNames,
  FORCED_CALLS,
  IN_SCHEMA,
  lackingBits,
  missingBits,
  SCHEMA_INSTEAD,
} from '../core/request/capability.ts';
import type { Facts } from '../core/request/facts.ts';
import type { ModelRequest } from '../core/request/model-request.ts';
import { capital } from '../core/text/text.ts';
import { forcedFunction } from './forced-function.ts';
import { allowsModel } from './model-name.ts';
import { canServe, endpointsFor } from './rules.ts';
import { type NeededField, neededFields } from './unsupported.ts';

type SomeFields = readonly [NeededField, ...NeededField[]];

/** The changes that would let a request succeed if the models lack only capabilities. */
interface Remedies {
  /** The field that causes the refusal; undefined if no single field causes it. */
  readonly param?: string;
  /** The suggestions as sentences; empty if nothing helps. */
  readonly text: string;
  /** Index of the model that the suggested change of the request is for; undefined without a change for one model. */
  readonly model?: number;
}

/** Returns the changes to the request, its model or the policy that would let a refused request succeed. */
export function remediesFor(refusal: Refusal, snapshot: PolicySnapshot, request: ModelRequest | null): Remedies {
  const lacking = refusal.rejected
    .filter(({ rejections }) => rejections === REJECTIONS.capability.bit)
    .map(({ model }) => snapshot.models[model]!);
  if (lacking.length === 0) return { text: '' };
  const fields = request && fieldsAtFault(lacking, refusal, neededFields(request, refusal.facts.needs));
  const schema = forcedCallRemedy(lacking, refusal, snapshot, request);
  const others = namesOf(takers(refusal, snapshot));
  const use = others === '' ? [] : [`use one of: ${others}`];
  const ways = [...(fields ? withoutFields(fields.fields) : []), ...schema.ways, ...use];
  const text = [schema.why, sentenceOf(ways), declaration(lacking, refusal)].filter((one) => one !== '').join(' ');
  const model = snapshot.modelIndex.get((fields?.model ?? lacking[0]!).id);
  return fields ? { param: fields.fields[0].name, text, model } : { text, model };
}

/** Returns the fields to leave out of a request so that it needs only what a model can do, as text; null if this is not enough. */
export function fieldsToLeaveOut(model: Model, { needs }: Facts, request: ModelRequest): string | null {
  const fields = fieldsOf(model, needs, neededFields(request, needs));
  return fields && withoutFields(fields)[0]!;
}

/** Returns the model that needs the fewest fields to be removed, with these fields; null if removing fields is not enough for any model. */
function fieldsAtFault(lacking: readonly Model[], { facts }: Refusal, needed: readonly NeededField[]) {
  let fewest: { readonly model: Model; readonly fields: SomeFields } | null = null;
  for (const model of lacking) {
    const fields = fieldsOf(model, facts.needs, needed);
    if (fields && (fewest === null || fields.length < fewest.fields.length)) fewest = { model, fields };
  }
  return fewest;
}

/** Returns the fields that need what a model lacks; null if removing them is not enough. */
function fieldsOf({ capabilities }: Model, needs: number, needed: readonly NeededField[]): SomeFields | null {
  const missing = missingBits(needs, capabilities);
  const [first, ...others] = needed.filter(({ bits }) => (bits & missing) !== 0);
  if (!first || (missing & ~[first, ...others].reduce((all, { bits }) => all | bits, 0)) !== 0) return null;
  return [first, ...others];
}

function withoutFields(fields: SomeFields): string[] {
  const named = fields.map(({ name }) => `\`${name}\``).join(' and ');
  const it = fields.length === 1 ? 'it' : 'them';
  const isDroppable = fields.every(({ droppable }) => droppable !== null);
  return [`leave ${named} out`, ...(isDroppable ? [`list ${it} in \`gateway.drop_unsupported\``] : [])];
}

/** The capabilities that a forced tool call needs but an answer in a JSON schema does not. */
const OF_FORCED_TOOL = IN_SCHEMA | SCHEMA_INSTEAD | CAPABILITIES.tools.bit;

interface ForcedCallRemedy {
  /**
   * A sentence that says why the call cannot become a structured answer. `why` is empty if the call can become a structured answer, or if
   * the policy does not adapt forced calls.
   */
  readonly why: string;
  readonly ways: readonly string[];
}

const NO_REMEDY: ForcedCallRemedy = { why: '', ways: [] };

/** Explains how a model that rejects the forced call could answer in a JSON schema instead, or why the model cannot. */
function forcedCallRemedy(
  lacking: readonly Model[],
  { facts: { needs } }: Refusal,
  { gateway: { forcedTools } }: PolicySnapshot,
  request: ModelRequest | null,
): ForcedCallRemedy {
  const forced = needs & lackingBits(FORCED_CALLS);
  if (!request || forced === 0) return NO_REMEDY;
  const instead = (needs & ~OF_FORCED_TOOL) | CAPABILITIES.json_schema.bit;
  const isHelped = (model: Model) => missingBits(forced, model.capabilities) !== 0 && canServe(model, instead);
  if (!lacking.some(isHelped)) return NO_REMEDY;
  const found = forcedFunction(request);
  if ('why' in found) {
    return {
      why: forcedTools === 'adapt' ? `The call cannot become a structured answer: ${found.why}.` : '',
      ways: [],
    };
  }
  const format = `\`${request.names.answerFormat}\` of the type \`json_schema\``;
  const way = `send the parameters of the function as ${format} without \`${request.names.tools}\``;
  return { why: '', ways: [`${way} (\`gateway.forced_tools: adapt\` does this)`] };
}

/** The maximum number of models that an error suggests. */
const TAKERS_SHOWN = 5;

/** Names the found models that selectors never choose, although the caller may name them; empty if there are none. */
export function foundText(refusal: Refusal, snapshot: PolicySnapshot): string {
  const models = refusal.facts.named === null ? takers(refusal, snapshot) : [];
  const names = namesOf(models.filter(({ found }) => found?.isNamedOnly));
  if (names === '') return '';
  return `Selectors do not choose models that were found at a provider with \`discover: serve\`, but a request can name them: ${names}.`;
}

/** Returns the models that accept every field of a request and that its caller may name. */
function takers({ facts, rejected }: Refusal, snapshot: PolicySnapshot): Model[] {
  const refused = new Set(rejected.map(({ model }) => model));
  const isTaker = (model: Model, at: number): boolean =>
    !refused.has(at) &&
    allowsModel(facts, model.id) &&
    (model.operations & OPERATIONS[facts.operation].bit) !== 0 &&
    canServe(model, facts.needs) &&
    endpointsFor(model, facts, snapshot).length > 0;
  return snapshot.models.filter(isTaker);
}

const namesOf = (models: readonly Model[]): string =>
  models
    .slice(0, TAKERS_SHOWN)
    .map(({ id }) => `\`${id}\``)
    .join(', ');

/** Suggests declaring the missing capabilities, because models on an operator's own server can often do more than the policy states. */
function declaration([model, ...others]: readonly Model[], { facts }: Refusal): string {
  if (!model || others.length > 0) return '';
  const missing = missingBits(facts.needs, model.capabilities);
  if ((missing & ~(model.declarable ?? 0)) !== 0) return '';
  const named = capabilityNames(missing).map((name) => `\`${name}\``);
  return `If \`${model.id}\` supports this, declare ${named.join(' and ')} under its \`capabilities\` in the policy.`;
}

function sentenceOf(ways: readonly string[]): string {
  const last = ways.at(-1);
  if (last === undefined) return '';
  const first = ways.slice(0, -1).join(', ');
  const text = first === '' ? last : `${first}${ways.length > 2 ? ',' : ''} or ${last}`;
  return `${capital(text)}.`;
}
