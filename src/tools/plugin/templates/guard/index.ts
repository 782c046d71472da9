import { defineGuard, linearPattern, Type } from 'signalbox/plugin';

/** Finds numbers of orders, such as `ORD-12345678`. */
export const exampleGuard = defineGuard({
  // The name that the section `guards` of a policy uses.
  name: 'example',
  status: 'alpha',
  // The schema of the guard's settings. The policy check reports a wrong setting with its line.
  settings: Type.Object(
    {
      prefix: Type.String({
        minLength: 1,
        maxLength: 8,
        default: 'ORD',
        pattern: '^[A-Z]+$',
        description: 'The letters before the digits.',
      }),
    },
    { additionalProperties: false },
  ),
  // The matches depend only on the texts and the settings. Otherwise the guard can inspect only requests.
  pure: true,
  // Each call gets the texts of one message.
  window: 'message',
  sides: ['input', 'output'],
  // Called once for each guard of the policy. Throw an Error to refuse settings that contradict each other.
  prepare({ prefix }) {
    // The search takes linear time for any text. A regular expression of JavaScript can take minutes for some texts.
    const pattern = linearPattern(`\\b${prefix}-[0-9]{8}\\b`);
    return {
      kinds: ['order-number'],
      // A match is recognized one character after its end, so streams are delayed by this number of characters.
      reach: prefix.length + 10,
      check: ({ texts }) =>
        texts.flatMap(({ text }, index) =>
          pattern.matches(text).map(([from, to]) => ({ kind: 'order-number', at: { text: index, from, to } })),
        ),
    };
  },
});
