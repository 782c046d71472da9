import { Type } from '@sinclair/typebox';
import { credits, named } from '../../surface/schemas/parts.ts';

const atomic = (description: string) =>
  Type.String({ description: `${description} In atomic units of the asset.`, examples: ['3250'] });
const network = Type.String({ description: 'CAIP-2.', examples: ['eip155:84532'] });

/** `payment_quote` of a route query. */
export const PaymentQuote = named('PaymentQuote', 'The most that a wallet without a balance would be asked to pay.', {
  schemes: Type.Array(Type.String(), { description: 'Of x402.', examples: [['exact']] }),
  max_credits: credits('At most, the settlement included.', 4.25),
  max_atomic: Type.Array(
    Type.Object({
      network,
      asset: Type.String({ description: 'Address of the token.' }),
      amount_atomic: atomic('The same there.'),
    }),
    { description: 'One for each network that payments are taken on.' },
  ),
});
