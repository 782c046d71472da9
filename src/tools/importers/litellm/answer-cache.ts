import { block, type FieldBlock, field } from '../../../policy/yaml/emit.ts';
import { booleanOf, numberOf } from './amounts.ts';
import { type ImportContext, mapOf } from './context.ts';
import type { LitellmSettings } from './fallbacks.ts';
import { scalarText, valueAt } from './tree.ts';

const TTL_MAX = 2_592_000;

/** Reads `cache` and `cache_params`; null if the configuration has no cache of equal requests. */
export function readAnswerCache({ library }: LitellmSettings, { outcomes }: ImportContext): FieldBlock | null {
  const isOn = valueAt(library, 'cache');
  const params = mapOf(valueAt(library, 'cache_params'), outcomes, 'a map of parameters');
  const type = valueAt(params, 'type');
  if (booleanOf(isOn) !== true) {
    const note = 'the cache is off; the section `cache` of the policy turns it on';
    outcomes.leftOut(isOn, note);
    return outcomes.leftOut(valueAt(library, 'cache_params'), note);
  }
  if (scalarText(type)?.endsWith('-semantic')) {
    const note =
      'a semantic cache can give a question the answer of another; the section `cache` repeats answers to equal requests only';
    outcomes.leftOut(isOn, note);
    return outcomes.leftOut(valueAt(library, 'cache_params'), note);
  }
  const to = ['cache'];
  outcomes.approximated(
    isOn,
    to,
    'all keys with equal rights share answers, as in LiteLLM; `partition: key` stops callers from learning what others asked',
  );
  const ttl =
    valueAt(params, 'ttl') ?? valueAt(params, 'default_in_redis_ttl') ?? valueAt(params, 'default_in_memory_ttl');
  const seconds = numberOf(ttl, outcomes, 'a number of seconds');
  const ttlSeconds = seconds === null ? null : Math.max(1, Math.min(TTL_MAX, Math.trunc(seconds)));
  if (seconds !== null) outcomes.mapped(ttl, [...to, 'ttl_seconds']);
  const mode = valueAt(params, 'mode');
  const isOptIn = scalarText(mode) === 'default_off';
  if (isOptIn)
    outcomes.approximated(
      mode,
      [...to, 'when'],
      'it applies to requests with `metadata: { cache: "on" }`; LiteLLM reads a field `cache`',
    );
  else outcomes.mapped(mode, to);
  outcomes.approximated(valueAt(params, 'supported_call_types'), to, 'it applies to chats and embeddings');
  outcomes.leftOut(
    valueAt(library, 'cache_params'),
    'answers are stored with the records: in the data folder, or in PostgreSQL',
  );
  return block(
    field('when', isOptIn ? 'request.metadata["cache"] == "on"' : null),
    field('partition', 'everyone'),
    field('ttl_seconds', ttlSeconds),
    field('sampled', true),
  );
}
