import { Type } from '@sinclair/typebox';
import { arrayOf, credits, named, text } from '../../api/parts.ts';
import { rows } from '../schemas/shapes.ts';

const atomic = (description: string) => text(`${description} In atomic units of the asset.`, '3250');
const network = text('CAIP-2.', 'eip155:84532');

/** `payment_quote` of a route query. */
export const PaymentQuote = named('PaymentQuote', 'The most that a wallet without a balance would be asked to pay.', {
  schemes: arrayOf(Type.String(), 'Of x402.', ['exact']),
  max_credits: credits('At most, the settlement included.', 4.25),
  max_atomic: rows('One for each network that payments are taken on.', {
    network,
    asset: text('Address of the token.'),
    amount_atomic: atomic('The same there.'),
  }),
});
