import { Type } from '@sinclair/typebox';
import * as f from '../core/define/fields.ts';
import { explanationJson } from './explanation.ts';
import { DECISION_ERRORS, operationsOn } from './kit/operation.ts';
import { PolicyExplanation } from './policy-explanation.ts';
import { SIDE } from './policy-shapes.ts';
import { type ExplanationDesk, explainServed } from './use-cases/policy/served-explain.ts';

/** The most bytes of a body to explain. The limit is low because an explanation reads the prompt many times. */
const EXPLAINED_BYTES_MAX = 262_144;

/** Who sends a request that is explained, and when. */
export const SENDER = {
  key: Type.Optional(
    f.inCommand(f.text('The ID of the key that would send the request.', 'k7mw2pq9x4ta'), { form: 'ID' }),
  ),
  team: Type.Optional(
    f.inCommand(f.text('The ID or the name of the team that would send the request, without a key.', 'search'), {
      form: 'NAME|ID',
    }),
  ),
  user: Type.Optional(
    f.inCommand(f.text('The ID of the user that would send the request, without a key.', 'user_0mtqg5k3w4x1b7q2z'), {
      form: 'ID',
    }),
  ),
  time: Type.Optional(
    f.inCommand(
      f.moment('When the request would arrive; by default now. Measurements and money are always the current ones.'),
      { form: 'TIME' },
    ),
  ),
};

/** The operation of `POST /admin/policy/explain` and `signalbox policy explain --url`. */
export const explainRequested = operationsOn<{ readonly desk: ExplanationDesk }>()({
  name: 'policy explain',
  command: false,
  http: 'POST /admin/policy/explain',
  bodyMax: EXPLAINED_BYTES_MAX,
  action: 'policy.explain',
  summary: 'Explain the decision for a request without sending it',
  details:
    'Returns the decision that a request would get now, with current measurements, estimates and money. It contains every candidate with its rank or the reasons against it, as `policy explain` prints them. The operation stores no record, holds no money and does not count against the rate limits of callers. The body may have at most 256 KiB. A principal can run one explanation at a time, and at most ten a second. Leads and members can explain requests of their own, or of keys that they may see, and only with the active policy.',
  input: f.closed('A request to decide without sending it.', {
    request: Type.Object(
      {},
      {
        additionalProperties: true,
        description: 'A body of `/v1/chat/completions`, `/v1/messages`, `/v1/responses` or `/v1/route`.',
        examples: [{ model: 'auto', messages: [{ role: 'user', content: 'Prove that √2 is irrational.' }] }],
      },
    ),
    ...SENDER,
    policy: Type.Optional(f.closed('The policy that decides; by default the active policy.', SIDE)),
  }),
  // The policy of the explanation may give a Credit another value than the active policy.
  output: f.onWire(PolicyExplanation),
  answer: 'The decision.',
  examples: {
    chat: {
      summary: 'A chat request, with the active policy',
      value: { request: { model: 'auto', messages: [{ role: 'user', content: 'Prove that √2 is irrational.' }] } },
    },
  },
  errorField: 'request.messages',
  errors: [...DECISION_ERRORS, 'not_found', 'conflict', 'policy_invalid'],
  async run({ desk }, { by }, query) {
    const { explanation, ...terms } = await explainServed(by, desk, query);
    return explanationJson(explanation, terms);
  },
});
