import { UpstreamNetwork } from '../../../src/providers/connection/network.ts';
import { Resolver } from '../../../src/providers/connection/resolver.ts';
import { failureIn, openTo, partsOf, textIn } from '../../support/provider-call.ts';

/** Calls each base URL in its arguments, resolves every name to this machine, and prints the results. */
const network = new UpstreamNetwork(new Resolver(async () => ['127.0.0.1']));
for (const url of process.argv.slice(2)) {
  const call = openTo(url, { network, allowPrivate: true });
  const parts = await partsOf(call);
  const { sent } = call;
  process.stdout.write(
    `${JSON.stringify({ text: textIn(parts), failure: failureIn(parts)?.message ?? null, sent })}\n`,
  );
}
