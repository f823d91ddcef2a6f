// The API behind the cabinet and the command line: {base_url}/cabinet/api. Every route has a row in roles.ts that says who may call it;
// every change leaves an entry in the audit log. Lists never show a secret.
import type { RouteApp } from '../http/server.ts';
import { type AccessRoutesDeps, registerAccessRoutes } from './access-routes.ts';
import { registerAttentionRoutes } from './attention-routes.ts';
import { type CallbackRoutesDeps, registerCallbackRoutes } from './callback-routes.ts';
import { registerCommandListRoutes } from './command-list-routes.ts';
import { type CommandRoutesDeps, registerCommandRoutes } from './command-routes.ts';
import { registerDayCloseRoutes } from './day-close-routes.ts';
import { type DeveloperDeps, registerDeveloperRoutes } from './developer-routes.ts';
import { type DeviceAdminDeps, registerDeviceAdminRoutes } from './device-routes.ts';
import { type DeviceStepsDeps, registerDeviceStepRoutes } from './device-steps-routes.ts';
import { type EventRoutesDeps, registerEventRoutes } from './event-routes.ts';
import { type InvoiceViewDeps, registerInvoiceViewRoutes } from './invoice-routes.ts';
import { registerMoneyStepRoutes } from './money-step-routes.ts';
import type { MoneyStepsDeps } from './money-steps.ts';
import { type OverviewDeps, registerOverviewRoutes } from './overview-routes.ts';
import { guardRows } from './own-rows.ts';
import type { PeopleRoutesDeps } from './people-schemas.ts';
import { registerSalePageRoutes, type SalePageDeps } from './sale-page-routes.ts';
import { registerSaleRoutes, type SaleRoutesDeps } from './sale-routes.ts';
import { registerSessionRoutes } from './session-routes.ts';
import { registerSigningRoutes, type SigningRoutesDeps } from './signing-routes.ts';
import { registerUserRoutes } from './user-routes.ts';

export type CabinetDeps = AccessRoutesDeps &
  CallbackRoutesDeps &
  DeviceAdminDeps &
  SaleRoutesDeps &
  CommandRoutesDeps &
  PeopleRoutesDeps &
  SigningRoutesDeps &
  SalePageDeps &
  InvoiceViewDeps &
  MoneyStepsDeps &
  OverviewDeps &
  EventRoutesDeps &
  DeviceStepsDeps &
  DeveloperDeps;

export function registerCabinetRoutes(app: RouteApp, deps: CabinetDeps): void {
  app.register(async (scope) => registerAll(scope as unknown as RouteApp, deps));
}

function registerAll(app: RouteApp, deps: CabinetDeps): void {
  guardRows(app, deps);
  registerAccessRoutes(app, deps);
  registerDeviceAdminRoutes(app, deps);
  registerCallbackRoutes(app, deps);
  registerSaleRoutes(app, deps);
  registerCommandRoutes(app, deps);
  registerCommandListRoutes(app, deps);
  registerSessionRoutes(app, deps);
  registerUserRoutes(app, deps);
  registerSigningRoutes(app, deps);
  registerSalePageRoutes(app, deps);
  registerMoneyStepRoutes(app, deps);
  registerInvoiceViewRoutes(app, deps);
  registerAttentionRoutes(app, deps);
  registerOverviewRoutes(app, deps);
  registerEventRoutes(app, deps);
  registerDayCloseRoutes(app, deps);
  registerDeviceStepRoutes(app, deps);
  registerDeveloperRoutes(app, deps);
}
