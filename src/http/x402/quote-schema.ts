import * as field from '../../core/api/parts.ts';

const atomic = (description: string) => field.text(`${description} In atomic units of the asset.`, '3250');
const network = field.text('CAIP-2.', 'eip155:84532');

/** `payment_quote` of a route query. */
export const PaymentQuote = field.named(
  'PaymentQuote',
  'The most that a wallet without a balance would be asked to pay.',
  {
    schemes: field.textList('Of x402.', ['exact']),
    max_credits: field.credits('At most, the settlement included.', 4.25),
    max_atomic: field.rows('One for each network that payments are taken on.', {
      network,
      asset: field.text('Address of the token.'),
      amount_atomic: atomic('The same there.'),
    }),
  },
);
