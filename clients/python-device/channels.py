"""The two wires of the device: MQTT by paho-mqtt, AMQP by pika. A channel holds nothing back: what cannot be sent now is not sent."""
import json
import queue
import random
import socket
import ssl
import threading
import time
from urllib.parse import urlsplit

import paho.mqtt.client as paho
import pika


def trust(ca):
    """The public authorities, and the operator's own; never whatever certificate comes."""
    context = ssl.create_default_context()
    if ca:
        context.load_verify_locations(ca)
    return context


class MqttChannel:
    name = "mqtt"

    def __init__(self, device, identity, ca):
        self.device = device
        self.address = urlsplit(identity["mqtt"]["url"])
        self.topics = identity["mqtt"]["topics"]
        self.is_live = False
        # paho-mqtt 2 asks which callbacks are meant; these are the ones that both versions have.
        version = (paho.CallbackAPIVersion.VERSION1,) if hasattr(paho, "CallbackAPIVersion") else ()
        self.client = paho.Client(*version, client_id=identity["deviceId"], clean_session=True, protocol=paho.MQTTv311)
        self.client.username_pw_set(identity["deviceId"], identity["secret"])
        self.client.will_set(self.topics["presence"], json.dumps(device.presence(online=False)), qos=1, retain=False)
        self.client.reconnect_delay_set(min_delay=1, max_delay=15)
        if self.address.scheme == "mqtts":
            self.client.tls_set_context(trust(ca))
        self.client.on_socket_open = lambda _client, _data, sock: sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client.on_connect = self.on_connect
        self.client.on_subscribe = self.on_subscribe
        self.client.on_disconnect = self.on_disconnect
        self.client.on_message = self.on_message

    def start(self):
        # A refused login may be temporary: paho goes on trying for ever, with growing waits.
        self.client.connect_async(self.address.hostname, self.address.port or 1883, keepalive=15)
        self.client.loop_start()

    def on_connect(self, client, _data, _flags, refused):
        if not refused:
            client.subscribe(self.topics["commands"], qos=0)

    def on_subscribe(self, *_ignored):
        self.is_live = True
        self.device.connected(self)

    def on_disconnect(self, *_ignored):
        self.is_live = False

    def on_message(self, _client, _data, message):
        if not message.retain:  # nothing live is retained
            self.device.receive(message.payload)

    def answer(self, reply_to, answer):
        return self.publish(self.topics["answers"].replace("{replyTo}", reply_to), answer)

    def presence(self, presence):
        return self.publish(self.topics["presence"], presence)

    def publish(self, topic, message):
        if not self.is_live:
            return False
        return self.client.publish(topic, json.dumps(message), qos=1).rc == paho.MQTT_ERR_SUCCESS


class AmqpChannel:
    """pika wants all its calls in one thread: what is to be sent waits for that thread a moment."""

    name = "amqp"

    def __init__(self, device, identity, ca):
        self.device = device
        self.guide = identity["queue"]
        address = urlsplit(self.guide["url"])
        tls = pika.SSLOptions(trust(ca), address.hostname) if address.scheme == "amqps" else None
        self.parameters = pika.ConnectionParameters(
            host=address.hostname,
            port=address.port or (5671 if tls else 5672),
            credentials=pika.PlainCredentials(identity["deviceId"], identity["secret"]),
            heartbeat=10,
            ssl_options=tls,
            tcp_options={"TCP_NODELAY": 1},
        )
        self.outgoing = queue.SimpleQueue()
        self.is_live = False

    def start(self):
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while True:
            try:
                self.serve(pika.BlockingConnection(self.parameters))
            except (pika.exceptions.AMQPError, OSError):
                self.is_live = False
            # Also the wait that a queue needs which our own dying connection still holds (RESOURCE_LOCKED).
            time.sleep(2 + random.random())

    def serve(self, connection):
        channel = connection.channel()
        name = self.guide["commandsQueue"]
        channel.queue_declare(name, exclusive=True, auto_delete=True, durable=False)
        channel.basic_consume(name, lambda _channel, _method, _properties, body: self.device.receive(body), auto_ack=True)
        self.outgoing = queue.SimpleQueue()
        self.is_live = True
        self.device.connected(self)
        while True:
            connection.process_data_events(time_limit=0.02)
            while not self.outgoing.empty():
                key, text = self.outgoing.get()
                properties = pika.BasicProperties(user_id=self.device.id)
                channel.basic_publish(self.guide["answersExchange"], key, text, properties)

    def answer(self, reply_to, answer):
        return self.publish(self.guide["answerKey"].replace("{replyTo}", reply_to), answer)

    def presence(self, presence):
        return self.publish(self.guide["presenceKey"], presence)

    def publish(self, key, message):
        if not self.is_live:
            return False
        self.outgoing.put((key, json.dumps(message)))
        return True
