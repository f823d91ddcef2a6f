// The gateway that a team would write in a week: NestJS with the Fastify adapter, TypeORM, and ClientProxy to the devices, by MQTT or by
// RabbitMQ. Each call looks up its key; a command is one insert before it is sent and one update after its answer. It has none of
// Tillgate's guarantees (no lock, no fence, no settlement, no repeats, no timeline), so every omission is in its favour.
import 'reflect-metadata';
import { randomBytes, randomUUID } from 'node:crypto';
import { Body, Controller, Get, Inject, Module, Post, Query } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxy, ClientsModule, Transport } from '@nestjs/microservices';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { firstValueFrom, timeout } from 'rxjs';
import { Column, Entity, Index, PrimaryColumn, Repository } from 'typeorm';

interface Fields {
  [name: string]: unknown;
  APIKey: string;
  DeviceID: string;
}

@Entity('keys')
class Key {
  @PrimaryColumn('uuid') id: string;
  @Column('uuid') merchantId: string;
}

@Entity('commands')
class Command {
  @PrimaryColumn('uuid') id: string;
  @Column('uuid') merchantId: string;
  @Column('uuid') deviceId: string;
  @Column('text') name: string;
  @Column('text') state: string;
  @Column('text') args: string;
  @Column('text', { nullable: true }) report: string | null;
  @Index() @Column('timestamptz') createdAt: Date;
}

@Entity('invoices')
class Invoice {
  @PrimaryColumn('uuid') id: string;
  @Index({ unique: true }) @Column('text') qr: string;
  @Column('uuid') merchantId: string;
  @Column('integer') status: number;
  @Column('text') receipt: string;
  @Column('text', { nullable: true }) receiptId: string | null;
  @Column('text', { nullable: true }) deviceId: string | null;
}

const done = { errorCode: 0, errorMessage: '' };

@Controller('Device')
class DeviceController {
  constructor(
    @InjectRepository(Key) private readonly keys: Repository<Key>,
    @InjectRepository(Command) private readonly commands: Repository<Command>,
    @Inject('DEVICES') private readonly devices: ClientProxy,
  ) {}

  @Post('payment/Pay') pay(@Body() body: Fields) {
    return this.run('Pay', body);
  }

  @Post('payment/CloseDoc') closeDoc(@Body() body: Fields) {
    return this.run('CloseDoc', body);
  }

  private async run(name: string, { APIKey, DeviceID, ...args }: Fields) {
    const key = await this.keys.findOneBy({ id: APIKey });
    if (!key) return { errorCode: 10, errorMessage: 'The key is not known.' };
    const id = randomUUID();
    await this.commands.insert({
      id,
      merchantId: key.merchantId,
      deviceId: DeviceID,
      name,
      state: 'sent',
      args: JSON.stringify(args),
      createdAt: new Date(),
    });
    const report = await firstValueFrom(this.devices.send(`device.${DeviceID}`, { id, name, args }).pipe(timeout(300_000)));
    await this.commands.update({ id }, { state: 'done', report: JSON.stringify(report) });
    return { ...done, report: JSON.stringify(report) };
  }
}

@Controller('Invoice')
class InvoiceController {
  constructor(
    @InjectRepository(Key) private readonly keys: Repository<Key>,
    @InjectRepository(Invoice) private readonly invoices: Repository<Invoice>,
  ) {}

  @Post('Create') async create(@Body() body: Fields) {
    const key = await this.keys.findOneBy({ id: body.APIKey });
    if (!key) return { errorCode: 10, errorMessage: 'The key is not known.' };
    const qr = randomBytes(24).toString('base64url');
    const id = randomUUID();
    await this.invoices.insert({ id, qr, merchantId: key.merchantId, status: 0, receipt: JSON.stringify(body['Receipt']) });
    return { ...done, QR: qr, OID: id };
  }

  @Get('Status') async status(@Query('QR') qr: string) {
    const invoice = await this.invoices.findOneBy({ qr });
    if (!invoice) return { errorCode: 20, errorMessage: 'There is no such invoice.' };
    return { ...done, Status: invoice.status, ReceiptID: invoice.receiptId ?? '' };
  }

  @Get('Get') async scan(@Query('QR') qr: string) {
    const invoice = await this.invoices.findOneBy({ qr });
    if (!invoice) return { errorCode: 20, errorMessage: 'There is no such invoice.' };
    await this.invoices.update({ id: invoice.id, status: 0 }, { status: 1 });
    return { ...done, Receipt: JSON.parse(invoice.receipt) as object };
  }

  @Get('Payd') async paid(@Query() query: { APIKey: string; QR: string; ReceiptID: string; DeviceID: string }) {
    const key = await this.keys.findOneBy({ id: query.APIKey });
    if (!key) return { errorCode: 10, errorMessage: 'The key is not known.' };
    const invoice = await this.invoices.findOneBy({ qr: query.QR });
    if (!invoice) return { errorCode: 20, errorMessage: 'There is no such invoice.' };
    await this.invoices.update({ id: invoice.id, status: 1 }, { status: 2, receiptId: query.ReceiptID, deviceId: query.DeviceID });
    return done;
  }
}

const { BENCH_POSTGRES_URL: postgresUrl, BENCH_BROKER_URL: brokerUrl = '', BENCH_KEY: keyId = '' } = process.env;
const entities = [Key, Command, Invoice];

@Module({
  imports: [
    TypeOrmModule.forRoot({ type: 'postgres', url: postgresUrl, entities, synchronize: true, extra: { max: 10 } }),
    TypeOrmModule.forFeature(entities),
    ClientsModule.register([
      brokerUrl.startsWith('mqtt')
        ? { name: 'DEVICES', transport: Transport.MQTT, options: { url: brokerUrl } }
        : {
            name: 'DEVICES',
            transport: Transport.RMQ,
            options: { urls: [brokerUrl], queue: 'bench.devices', queueOptions: { durable: false } },
          },
    ]),
  ],
  controllers: [DeviceController, InvoiceController],
})
class GatewayModule {}

const app = await NestFactory.create<NestFastifyApplication>(GatewayModule, new FastifyAdapter(), { logger: ['error', 'warn'] });
await app.get<Repository<Key>>('KeyRepository').upsert({ id: keyId, merchantId: randomUUID() }, ['id']);
await app.listen(0, '127.0.0.1');
console.log(`listens at ${await app.getUrl()}`);
