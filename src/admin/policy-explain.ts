import { Type } from '@sinclair/typebox';
import * as field from '../core/api/parts.ts';
import * as f from './kit/fields.ts';
import { DECISION_ERRORS, operationsOn } from './kit/operation.ts';
import { PolicyExplanation } from './policy-explanation.ts';
import { SIDE } from './policy-shapes.ts';
import { type ExplanationDesk, explainServed } from './use-cases/policy/served-explain.ts';

/** Bytes of the largest body that is explained: an explanation reads a prompt many times. */
const EXPLAINED_BYTES_MAX = 262_144;

/** `POST /admin/policy/explain`, and `signalbox policy explain --url`. */
export const explainRequested = operationsOn<{ readonly desk: ExplanationDesk }>()({
  name: 'policy explain',
  command: false,
  http: 'POST /admin/policy/explain',
  bodyMax: EXPLAINED_BYTES_MAX,
  action: 'policy.explain',
  summary: 'Explain the decision for a request that is not sent',
  details:
    'Returns the decision that a request would get now, by the present readings, estimates and money, with every candidate and its rank or the reasons against it, as `policy explain` does. It leaves no record, holds nothing and counts in no rate limit of a caller. The body may have at most 256 KiB. A principal gets one explanation at a time, and at most ten a second. Leads and members ask as themselves or as keys that they see, on the active policy.',
  input: f.body('A request that is decided and never sent.', {
    request: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'A body of `/v1/chat/completions`, `/v1/messages`, `/v1/responses` or `/v1/route`.',
        examples: [{ model: 'auto', messages: [{ role: 'user', content: 'Prove that √2 is irrational.' }] }],
      },
    ),
    key: Type.Optional(field.text('The ID of the key that it comes from.', 'k7mw2pq9x4ta')),
    team: Type.Optional(field.text('The ID or the name of the team that it comes from, without a key.', 'search')),
    user: Type.Optional(field.text('The ID of the user that it comes from, without a key.', 'user_0mtqg5k3w4x1b7q2z')),
    time: Type.Optional(field.moment('When it comes; now unless stated. Readings and money are the present ones.')),
    policy: Type.Optional(field.body('The policy that decides: the active policy unless stated.', SIDE)),
  }),
  // Its content comes from parts whose types do not follow the schema.
  output: Type.Unsafe<object>(PolicyExplanation),
  answer: 'The decision.',
  examples: {
    chat: {
      summary: 'A chat, on the active policy',
      value: { request: { model: 'auto', messages: [{ role: 'user', content: 'Prove that √2 is irrational.' }] } },
    },
  },
  errorField: 'request.messages',
  errors: [...DECISION_ERRORS, 'not_found', 'conflict', 'policy_invalid'],
  run: async ({ desk }, { by }, query) => await explainServed(by, desk, query),
});
