import fc from 'fast-check';
import { isObject, parseJson } from '../../plugins/providers/json.ts';
import type { StateGenerators } from '../../src/tools/conformance/requests.ts';
import { signatureOf as thinkingSignature } from '../support/dialects/anthropic-thinking.ts';
import { signatureOf as thoughtSignature } from '../support/dialects/gemini-thoughts.ts';
import type { DialectName } from '../support/dialects/index.ts';

type Fields = Readonly<Record<string, unknown>>;

const details = (...entries: readonly Fields[]): Fields => ({ reasoning_details: entries });
const google = (signature: string): Fields => ({ extra_content: { google: { thought_signature: signature } } });

/** State in the forms of gateways of all kinds, which no provider here can read. */
const NOBODYS: readonly Fields[] = [
  details({ type: 'reasoning.encrypted', data: 'gAAAAA', format: 'openai-responses-v1', index: 0, id: 'rs_1' }),
  details({ type: 'reasoning.summary', summary: 'Hm.', format: 'openai-responses-v1', index: 0 }),
  details({ type: 'reasoning.encrypted', data: 'x', format: 'xai-responses-v1', index: 0 }, { type: 'odd' }),
  { reasoning: 'Hm.', reasoning_opaque: 'b3BhcXVl', encrypted_content: 'gAAAAA' },
  { reasoning_details: null, extra_content: {}, provider_specific_fields: null },
  { reasoning_details: 'Hm.', extra_content: 'odd', thinking_blocks: [null, 1] },
];

/** State in Anthropic's forms, with a signature that its API would recognise as not its own. */
const CLAUDES: readonly Fields[] = [
  details({ type: 'reasoning.text', text: 'Hm.', signature: 'c2ln', format: 'anthropic-claude-v1', index: 0 }),
  { thinking_blocks: [{ type: 'redacted_thinking', data: 'AAAA' }] },
];

/** State in Google's forms, with a signature that its API would recognise as not its own. */
const GEMINIS: readonly Fields[] = [
  details({ type: 'reasoning.encrypted', data: 'CiQB', format: 'google-gemini-v1', index: 0, id: 'call_1_0' }),
  google('CiQB'),
];

/** Reasoning of another Anthropic model. The API accepts reasoning of another Anthropic model and leaves it out. */
const thinking = (text: string, id: string): Fields => ({
  type: 'reasoning.text',
  text,
  signature: thinkingSignature({ model: 'claude-opus-4-7' }, text),
  format: 'anthropic-claude-v1',
  index: 0,
  id,
});

const from = (fields: readonly Fields[]): fc.Arbitrary<Fields> => fc.constantFrom(...fields);

/**
 * Foreign state for OpenAI's own models. The first two forms are left out, because OpenAI would read them as its own state, and as forged.
 */
export const OF_OTHERS: StateGenerators = {
  ofMessage: from([...NOBODYS.slice(2), ...CLAUDES, ...GEMINIS]),
  ofCall: () => google('CiQB'),
};

/** State that a conversation may contain: state of other providers, which must not reach this provider, and its own valid state. */
export const STATE: Readonly<Record<DialectName, StateGenerators>> = {
  openai: { ofMessage: from([...NOBODYS, ...CLAUDES, ...GEMINIS]), ofCall: () => google('CiQB') },
  anthropic: {
    ofMessage: from([
      ...NOBODYS,
      ...GEMINIS,
      details(thinking('Hm.', 'thought-0-0-0')),
      details(thinking('', 'thought-0-0-0'), thinking('Then again.', 'thought-1-3-1')),
      details(thinking('From elsewhere.', 'of-another-gateway')),
    ]),
    ofCall: () => google('CiQB'),
  },
  gemini: {
    ofMessage: from([...NOBODYS, ...CLAUDES, google(thoughtSignature())]),
    // A broken call has no state.
    ofCall(name, text) {
      const args = text.trim() === '' ? {} : parseJson(text);
      return isObject(args) ? google(thoughtSignature({ name, args })) : {};
    },
  },
};
