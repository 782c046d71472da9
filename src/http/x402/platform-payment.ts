import { Type } from '@sinclair/typebox';
import { credits, named, orNull, word } from '../schemas/parts.ts';

const atomic = (description: string) =>
  Type.String({ description: `${description} In atomic units of the asset.`, examples: ['3250'] });
const network = Type.String({ description: 'CAIP-2.', examples: ['eip155:84532'] });

/** `platform.payment`. */
export const PlatformPayment = named('PlatformPayment', 'How a wallet paid for the answer.', {
  id: orNull(Type.String({ examples: ['pay_0a4x1wm3zk0'] }), 'For `GET /v1/payments/{id}`; null for balance.'),
  source: word(['x402', 'wallet_credits'], 'A payment settled for this request, or the balance of the wallet.'),
  payer: Type.String({ description: 'Address of the wallet, in lower case.' }),
  state: orNull(Type.String({ examples: ['captured'] }), 'Of the payment, as it stood when the answer was made.'),
  scheme: orNull(Type.Literal('exact'), 'The scheme of x402.'),
  network: orNull(network, 'Where it was settled.'),
  asset: orNull(Type.String(), 'Address of the token.'),
  paid_atomic: orNull(atomic('What was paid.'), 'What was paid, in atomic units of the asset.'),
  transaction: orNull(Type.String(), 'Hash of the transaction that settled it.'),
  paid_credits: credits('What the payment is worth; 0 for balance.', 3.25),
  fee_credits: credits('What its settlement cost; 0 where nothing was charged.', 1),
  balance_added_credits: credits('What the request adds to the balance of the wallet; negative: takes from it.', 2.16),
});

/** `payment_quote` of a route query. */
export const PaymentQuote = named('PaymentQuote', 'What a wallet without a balance would be asked to pay for it.', {
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
