// The API of the cabinet and the command line: {base_url}/cabinet/api. Every route has a row in roles.ts with its rights. Every change writes
// an entry to the audit log. Lists never contain secrets.
import type { RouteApp } from '../http/server.ts';
import { takeChangesInTurn } from './changes-in-turn.ts';
import type { CabinetDeps } from './deps.ts';
import type { EventHub } from './events/event-hub.ts';
import { registerEventRoutes } from './events/event-routes.ts';
import { registerAttentionRoutes } from './overview/attention-routes.ts';
import { registerOverviewRoutes } from './overview/overview-routes.ts';
import { guardRows } from './own-rows.ts';
import { registerSessionRoutes } from './people/session-routes.ts';
import { registerUserRoutes } from './people/user-routes.ts';
import { type PlaygroundRoutesDeps, registerPlaygroundRoutes } from './playground/routes.ts';
import { registerCallbackRoutes } from './sales/callback-routes.ts';
import { registerCommandListRoutes } from './sales/command-list-routes.ts';
import { registerDayCloseRoutes } from './sales/day-close-routes.ts';
import { registerInvoiceViewRoutes } from './sales/invoice-routes.ts';
import { registerSalePageRoutes } from './sales/sale-page-routes.ts';
import { registerSaleRoutes } from './sales/sale-routes.ts';
import { registerAccessRoutes } from './setup/access-routes.ts';
import { type DeveloperDeps, registerDeveloperRoutes } from './setup/developer-routes.ts';
import { registerDeviceAdminRoutes } from './setup/device-routes.ts';
import { registerInstanceRoutes } from './setup/instance-routes.ts';
import { registerSigningRoutes, registerTestCallback } from './setup/signing-routes.ts';
import { registerDecisionRoutes } from './steps/decision-routes.ts';
import { registerDeviceStepRoutes } from './steps/device-step-routes.ts';
import { createDryView } from './steps/dry-steps.ts';
import { registerMoneyStepRoutes } from './steps/money-step-routes.ts';
import { createStepBound } from './steps/step-refusals.ts';
import { createMismatches } from './views/figures/mismatches.ts';
import { createCsvExports, type ExportBounds } from './views/lists/export.ts';
import { oldCore } from './views/sale/old-core.ts';

type Deps = CabinetDeps & { events: Pick<EventHub, 'join'>; exportBounds: ExportBounds } & DeveloperDeps & PlaygroundRoutesDeps;

export function registerCabinetRoutes(app: RouteApp, deps: Deps): void {
  app.register(async (scope) => registerAll(scope as unknown as RouteApp, deps));
}

function registerSetUp(app: RouteApp, deps: Deps): void {
  takeChangesInTurn(app);
  registerAccessRoutes(app, deps);
  registerDeviceAdminRoutes(app, deps);
  registerUserRoutes(app, deps);
  registerSigningRoutes(app, deps);
}

function registerAll(app: RouteApp, deps: Deps): void {
  guardRows(app, deps);
  app.register(async (scope) => registerSetUp(scope as unknown as RouteApp, deps));
  registerCallbackRoutes(app, deps);
  registerSaleRoutes(app, deps);
  registerDecisionRoutes(app, deps);
  const csvExports = createCsvExports({ ...deps, bounds: deps.exportBounds });
  registerCommandListRoutes(app, { ...deps, csvExports });
  registerSessionRoutes(app, deps);
  registerTestCallback(app, deps);
  const mismatches = createMismatches();
  const core = deps.dryRuns ? createDryView(deps.dryRuns) : oldCore;
  registerSalePageRoutes(app, { ...deps, mismatches, core });
  const bounded = createStepBound(deps.clock);
  registerMoneyStepRoutes(app, { ...deps, bounded });
  registerInvoiceViewRoutes(app, { ...deps, csvExports, core });
  registerAttentionRoutes(app, { ...deps, mismatches });
  registerOverviewRoutes(app, { ...deps, mismatches });
  registerEventRoutes(app, deps);
  registerDayCloseRoutes(app, deps);
  registerDeviceStepRoutes(app, { ...deps, bounded });
  registerInstanceRoutes(app, deps);
  registerDeveloperRoutes(app, deps);
  registerPlaygroundRoutes(app, deps);
}
