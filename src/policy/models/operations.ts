import { OPERATIONS, TEXT_OPERATIONS } from '../../core/kinds/operations.ts';
import type { Endpoint, Model } from '../../core/policy/snapshot.ts';
import type { ProviderSetup } from '../providers/setup.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';

/** A model of the catalog with the locations of its endpoints. */
interface PlacedModel {
  readonly model: Pick<Model, 'id' | 'operations'>;
  readonly endpoints: readonly { readonly endpoint: Pick<Endpoint, 'provider'>; readonly place: SourceSpan }[];
}

/** Reports models at providers whose adapter lacks an operation of the model. Every adapter has conversations. */
export function checkAdapters(
  models: readonly PlacedModel[],
  providers: ReadonlyMap<string, Pick<ProviderSetup, 'has'>>,
  report: Report,
): void {
  for (const operation of TEXT_OPERATIONS) {
    const { bit, serves } = OPERATIONS[operation];
    for (const { model, endpoints } of models) {
      if ((model.operations & bit) === 0) continue;
      for (const { endpoint, place } of endpoints) {
        if (providers.get(endpoint.provider)?.has?.[operation] !== false) continue;
        const message = `the adapter of provider \`${endpoint.provider}\` has no ${serves}, but the model \`${model.id}\` needs them`;
        report.add('provider-without-operation', place, message);
      }
    }
  }
}
