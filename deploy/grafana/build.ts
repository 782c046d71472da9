import {
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { gateway, policy } from './inside.ts';
import { money, payments } from './money.ts';
import { AT, SOURCE } from './panels.ts';
import { scores } from './scores.ts';
import { overview, providers, routing } from './traffic.ts';

/** Builds the dashboard `signalbox.json`. `UPDATE=1 bun test test/system/deploy/dashboard.test.ts` writes the file. */
export function buildDashboard(): Dashboard {
  const builder = new DashboardBuilder('Signalbox')
    .uid('signalbox')
    .description('Traffic, routing, providers, money and health of Signalbox. Made by deploy/grafana/build.ts.')
    .tags(['signalbox', 'llm'])
    .timezone('browser')
    .refresh('30s')
    .time({ from: 'now-6h', to: 'now' })
    .tooltip(DashboardCursorSync.Crosshair)
    .annotation(
      new AnnotationQueryBuilder()
        .name('Another policy')
        .datasource(SOURCE)
        .enable(true)
        .hide(false)
        .iconColor('purple')
        .expr(
          `count by (revision) (signalbox_policy_info{${AT}}) unless count by (revision) (signalbox_policy_info{${AT}} offset 2m)`,
        )
        .titleFormat('policy {{revision}}')
        .step('60s'),
    )
    .variables(variables());
  for (const part of [...overview, ...routing, ...scores, ...providers, ...money, ...payments, ...gateway, ...policy]) {
    if (part instanceof RowBuilder) builder.withRow(part);
    else builder.withPanel(part);
  }
  return numbered(builder.build());
}

/** The selection fields at the top of the dashboard. `All` also matches an empty label. */
function variables() {
  const choice = (name: string, label: string, query: string): QueryVariableBuilder =>
    new QueryVariableBuilder(name)
      .label(label)
      .datasource(SOURCE)
      .query(query)
      .refresh(VariableRefresh.OnTimeRangeChanged)
      .sort(VariableSort.AlphabeticalAsc)
      .multi(true)
      .includeAll(true)
      .allValue('.*')
      .current({ selected: true, text: 'All', value: '$__all' });
  return [
    new DatasourceVariableBuilder('datasource').label('Source').type('prometheus'),
    choice('job', 'Installation', 'label_values(signalbox_build_info, job)'),
    choice('instance', 'Server', 'label_values(signalbox_build_info{job=~"$job"}, instance)'),
    choice('selector', 'Selector', `label_values(signalbox_chats_total{${AT}}, selector)`),
    choice('model', 'Model', `label_values(signalbox_endpoint_state{${AT}}, model)`),
    choice('provider', 'Provider', `label_values(signalbox_endpoint_state{${AT}, model=~"$model"}, provider)`),
  ];
}

/** Grafana identifies panels by numbers, which the builder does not set. */
function numbered(dashboard: Dashboard): Dashboard {
  dashboard.panels?.forEach((panel, at) => {
    panel.id = at + 1;
  });
  return dashboard;
}
