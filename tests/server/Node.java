import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SequenceWriter;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.util.RawValue;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.db.ClusteringPrefix;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.LivenessInfo;
import org.apache.cassandra.db.Mutation;
import org.apache.cassandra.db.commitlog.CommitLog;
import org.apache.cassandra.db.commitlog.CommitLogDescriptor;
import org.apache.cassandra.db.commitlog.CommitLogReadHandler;
import org.apache.cassandra.db.commitlog.CommitLogReader;
import org.apache.cassandra.db.commitlog.CommitLogSegmentReader;
import org.apache.cassandra.db.context.CounterContext;
import org.apache.cassandra.db.marshal.AbstractType;
import org.apache.cassandra.db.marshal.CollectionType;
import org.apache.cassandra.db.marshal.CompositeType;
import org.apache.cassandra.db.marshal.ReversedType;
import org.apache.cassandra.db.marshal.SetType;
import org.apache.cassandra.db.marshal.UserType;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.rows.Cell;
import org.apache.cassandra.db.rows.ColumnData;
import org.apache.cassandra.db.rows.ComplexColumnData;
import org.apache.cassandra.db.rows.RangeTombstoneMarker;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.db.rows.Unfiltered;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.hints.HintsService;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.service.CassandraDaemon;
import org.apache.cassandra.service.StorageProxy;
import org.apache.cassandra.service.StorageService;
import org.apache.cassandra.transport.ProtocolVersion;
import org.apache.cassandra.utils.ByteBufferUtil;

/**
 * A Cassandra node (4.0, 4.1 or 5.0) that takes commands on standard input, one a line, words separated by tabs.
 *
 * Answers go to standard output as "@ready", "@ok[ TAB word ...]" or "@error TAB text"; every other line is noise.
 * The end of standard input ends the process at once, so that no node outlives the test that started it.
 * It is compiled with each version's own classes; what they do not all have is asked for by name (`ByName`).
 */
public final class Node {
    private static final ObjectMapper MAPPER = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        new CassandraDaemon(false).activate();
        // A start may have needed to forgive a torn marker; what the node shows afterwards must stop there again.
        ByName.forgiveNoMarker();
        System.out.println("@ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            try {
                System.out.println("@ok" + answer(line.split("\t")));
            } catch (Throwable problem) {
                problem.printStackTrace();
                System.out.println("@error\t" + problem.toString().replace('\n', ' '));
            }
            if (line.equals("quit")) System.exit(0);
        }
        Runtime.getRuntime().halt(1);
    }

    private static String answer(String[] words) throws Exception {
        switch (words[0]) {
            case "sync": CommitLog.instance.sync(true); return "";
            case "recycle": CommitLog.instance.forceRecycleAllSegments(); return "";
            case "flush": StorageService.instance.forceKeyspaceFlush(words[1]); return "";
            case "drain": StorageService.instance.drain(); return "";
            case "quit": return "";
            case "dump": return "\t" + dump(Path.of(words[1]), Path.of(words[2]));
            case "time": return time(Path.of(words[1]), Integer.parseInt(words[2]));
            default: return ofCluster(words);
        }
    }

    /** What only a node among others is asked for. */
    private static String ofCluster(String[] words) throws Exception {
        switch (words[0]) {
            case "repair": return "\t" + repair(words[1]);
            case "decommission": StorageService.instance.decommission(true); return "";
            case "mode": return "\t" + StorageService.instance.getOperationMode();
            case "live": return words(StorageService.instance.getLiveNodesWithPort());
            case "unreachable": return words(StorageService.instance.getUnreachableNodesWithPort());
            case "hinted": return "\t" + ((List<?>) ByName.get(HintsService.instance, "getPendingHintsInfo")).size();
            case "handoff": StorageProxy.instance.setHintedHandoffEnabled(Boolean.parseBoolean(words[1])); return "";
            case "cdc_on_repair": ByName.set(DatabaseDescriptor.class, null, "setCDCOnRepairEnabled", words[1]); return "";
            case "cdc_block": ByName.set(CommitLog.class, CommitLog.instance, "setCDCBlockWrites", words[1]); return "";
            default: throw new IllegalArgumentException("no such command: " + words[0]);
        }
    }

    private static String words(List<String> found) {
        return found.isEmpty() ? "" : "\t" + String.join("\t", found);
    }

    /** A full, parallel repair of every range of the keyspace: the status that it ended with, and its text. */
    private static String repair(String keyspace) throws InterruptedException {
        Map<String, String> options = Map.of("parallelism", "parallel", "incremental", "false", "primaryRange", "false");
        int number = StorageService.instance.repairAsync(keyspace, options);
        while (true) {
            List<String> status = StorageService.instance.getParentRepairStatus(number);
            if (status != null && !status.isEmpty() && !status.get(0).equals("IN_PROGRESS"))
                return String.join("\t", status).replace('\n', ' ');
            Thread.sleep(100);
        }
    }

    /** Writes one JSON line a mutation, as the server's reader shows them; gives their number. */
    private static long dump(Path segment, Path out) throws Exception {
        try (SequenceWriter lines = MAPPER.writer().withRootValueSeparator("\n").writeValues(out.toFile())) {
            Lines handler = new Lines(lines);
            read(segment, handler);
            return handler.seen;
        }
    }

    /** Reads the segment `runs` times with a handler that only counts: "mutations TAB seconds" a run. */
    private static String time(Path segment, int runs) throws Exception {
        StringBuilder answer = new StringBuilder();
        for (int run = 0; run < runs; run++) {
            Counting handler = new Counting();
            long began = System.nanoTime();
            read(segment, handler);
            answer.append('\t').append(handler.seen).append('\t').append((System.nanoTime() - began) / 1e9);
        }
        return answer.toString();
    }

    private static void read(Path segment, Counting handler) throws Exception {
        try {
            ByName.read(segment, handler);
        } catch (CommitLogReadHandler.CommitLogReadException stop) {
            if (!handler.told) throw stop;
        }
    }

    /** What the versions differ in. What a version does not have at all it answers with NoSuchMethodException. */
    private static final class ByName {
        /** Has the server's reader read the segment, from 4.1 on as a file of Cassandra's own class. */
        static void read(Path segment, CommitLogReadHandler handler) throws Exception {
            for (Method method : CommitLogReader.class.getMethods()) {
                Class<?>[] types = method.getParameterTypes();
                if (!method.getName().equals("readCommitLogSegment") || types.length != 3) continue;
                Object file = types[1].getConstructor(String.class).newInstance(segment.toString());
                call(method, new CommitLogReader(), handler, file, false);
                return;
            }
            throw new NoSuchMethodException("readCommitLogSegment");
        }

        /** 4.0 has nothing to forbid: it never forgives a torn marker. */
        static void forgiveNoMarker() throws Exception {
            try {
                set(CommitLogSegmentReader.class, null, "setAllowSkipSyncMarkerCrc", "false");
            } catch (NoSuchMethodException of40) {
                return;
            }
        }

        static Object get(Object on, String getter) throws Exception {
            return call(on.getClass().getMethod(getter), on);
        }

        static void set(Class<?> owner, Object on, String setter, String value) throws Exception {
            call(owner.getMethod(setter, boolean.class), on, Boolean.valueOf(value));
        }

        private static Object call(Method method, Object on, Object... arguments) throws Exception {
            try {
                return method.invoke(on, arguments);
            } catch (InvocationTargetException thrown) {
                if (thrown.getCause() instanceof Exception) throw (Exception) thrown.getCause();
                throw thrown;
            }
        }
    }

    private static class Counting implements CommitLogReadHandler {
        long seen;
        boolean told;

        @Override
        public void handleMutation(Mutation mutation, int size, int end, CommitLogDescriptor segment) {
            seen++;
        }

        @Override
        public boolean shouldSkipSegmentOnError(CommitLogReadException problem) throws IOException {
            return false;
        }

        @Override
        public void handleUnrecoverableError(CommitLogReadException problem) throws IOException {
            // Returning would make the server's section iterator meet the same bad marker again and again.
            if (problem.reason != CommitLogReadErrorReason.MUTATION_ERROR) throw problem;
        }
    }

    /** Writes what it is shown; a reader's complaint becomes a line {"problem": text}. */
    private static final class Lines extends Counting {
        private final SequenceWriter lines;

        Lines(SequenceWriter lines) {
            this.lines = lines;
        }

        @Override
        public void handleMutation(Mutation mutation, int size, int end, CommitLogDescriptor segment) {
            super.handleMutation(mutation, size, end, segment);
            ObjectNode line = MAPPER.createObjectNode().put("segment", segment.id).put("end", end).put("size", size);
            ArrayNode updates = line.putArray("updates");
            for (PartitionUpdate update : mutation.getPartitionUpdates()) updates.add(View.update(update));
            write(line);
        }

        @Override
        public boolean shouldSkipSegmentOnError(CommitLogReadException problem) throws IOException {
            write(MAPPER.createObjectNode().put("problem", problem.toString()));
            return super.shouldSkipSegmentOnError(problem);
        }

        @Override
        public void handleUnrecoverableError(CommitLogReadException problem) throws IOException {
            write(MAPPER.createObjectNode().put("problem", problem.toString()));
            told = true;
            super.handleUnrecoverableError(problem);
        }

        private void write(ObjectNode line) {
            try {
                lines.write(line);
            } catch (IOException problem) {
                throw new java.io.UncheckedIOException(problem);
            }
        }
    }

    /** The server's objects as JSON trees: the format that the recorded sets have in `expected/`. */
    private static final class View {
        private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

        static ObjectNode update(PartitionUpdate update) {
            TableMetadata table = update.metadata();
            ByteBuffer key = update.partitionKey().getKey();
            ObjectNode node = NODES.objectNode();
            node.put("keyspace", table.keyspace).put("table", table.name).put("id", table.id.toString());
            node.put("key_hex", hex(key)).set("key", key(table, key));
            node.put("token", update.partitionKey().getToken().toString());
            if (table.isCounter()) node.put("is_counter", true);
            DeletionTime gone = update.deletionInfo().getPartitionDeletion();
            if (!gone.isLive()) node.set("partition_deletion", deletion(gone));
            if (!update.staticRow().isEmpty()) node.set("static", row(table, update.staticRow()));
            ArrayNode unfiltereds = node.putArray("unfiltereds");
            try (UnfilteredRowIterator each = update.unfilteredIterator()) {
                while (each.hasNext()) {
                    Unfiltered next = each.next();
                    unfiltereds.add(next instanceof Row ? row(table, (Row) next) : marker(table, (RangeTombstoneMarker) next));
                }
            }
            return node;
        }

        private static ObjectNode key(TableMetadata table, ByteBuffer key) {
            ByteBuffer[] parts = table.partitionKeyType instanceof CompositeType
                ? ((CompositeType) table.partitionKeyType).split(key) : new ByteBuffer[] { key };
            ObjectNode node = NODES.objectNode();
            for (ColumnMetadata column : table.partitionKeyColumns())
                value(node, column.name.toString(), column.type, parts[column.position()]);
            return node;
        }

        private static ObjectNode row(TableMetadata table, Row row) {
            ObjectNode node = NODES.objectNode().put("kind", row.isStatic() ? "static" : "row");
            if (!row.isStatic()) clustering(node, table, row.clustering());
            LivenessInfo live = row.primaryKeyLivenessInfo();
            if (!live.isEmpty())
                node.putObject("liveness").put("ts", live.timestamp()).put("ttl", live.ttl()).put("ldt", live.localExpirationTime());
            if (!row.deletion().isLive()) node.set("deletion", deletion(row.deletion().time()));
            if (row.deletion().isShadowable()) node.put("shadowable", true);
            ArrayNode cells = node.putArray("cells");
            ObjectNode complexDeletions = node.putObject("complex_deletions");
            for (ColumnData data : row) {
                if (data instanceof Cell) {
                    cells.add(cell((Cell<?>) data));
                    continue;
                }
                ComplexColumnData complex = (ComplexColumnData) data;
                if (!complex.complexDeletion().isLive())
                    complexDeletions.set(data.column().name.toString(), deletion(complex.complexDeletion()));
                for (Cell<?> element : complex) cells.add(cell(element));
            }
            return node;
        }

        private static ObjectNode marker(TableMetadata table, RangeTombstoneMarker marker) {
            ObjectNode node = NODES.objectNode().put("kind", "marker").put("bound", marker.clustering().kind().toString());
            clustering(node, table, marker.clustering());
            if (marker.isClose(false)) node.set("close", deletion(marker.closeDeletionTime(false)));
            if (marker.isOpen(false)) node.set("open", deletion(marker.openDeletionTime(false)));
            return node;
        }

        private static ObjectNode cell(Cell<?> cell) {
            AbstractType<?> type = cell.column().type;
            ObjectNode node = NODES.objectNode().put("column", cell.column().name.toString());
            if (cell.path() != null) {
                ByteBuffer path = cell.path().get(0);
                node.put("path", hex(path));
                if (type instanceof UserType) {
                    int field = path.getShort(path.position());
                    node.put("path_json", ((UserType) type).fieldNameAsString(field));
                    type = ((UserType) type).fieldType(field);
                } else {
                    value(node, "path_json", ((CollectionType<?>) type).nameComparator(), path);
                    type = type instanceof SetType ? null : ((CollectionType<?>) type).valueComparator();
                }
            }
            if (cell.isTombstone()) node.putNull("value");
            else if (type == null) node.put("value", "");
            else if (type.isCounter()) node.put("value", CounterContext.instance().total(cell));
            else value(node, "value", type, cell.buffer());
            node.put("hex", hex(cell.buffer())).put("ts", cell.timestamp()).put("ttl", cell.ttl());
            return node.put("ldt", cell.localDeletionTime()).put("tombstone", cell.isTombstone());
        }

        private static void clustering(ObjectNode node, TableMetadata table, ClusteringPrefix<?> prefix) {
            ArrayNode values = node.putArray("clustering");
            ArrayNode bytes = node.putArray("clustering_hex");
            for (int i = 0; i < prefix.size(); i++) {
                ByteBuffer part = prefix.bufferAt(i);
                AbstractType<?> type = table.comparator.subtype(i);
                ObjectNode holder = NODES.objectNode();
                value(holder, "value", type.isReversed() ? ((ReversedType<?>) type).baseType : type, part);
                values.add(holder.get("value"));
                bytes.add(part == null ? null : hex(part));
            }
        }

        private static ObjectNode deletion(DeletionTime time) {
            return NODES.objectNode().put("ts", time.markedForDeleteAt()).put("ldt", time.localDeletionTime());
        }

        /** Puts the server's own JSON text of the bytes; where it has none, the bytes and its reason. */
        private static void value(ObjectNode node, String name, AbstractType<?> type, ByteBuffer bytes) {
            String text = null;
            try {
                if (bytes != null) text = type.toJSONString(bytes.duplicate(), ProtocolVersion.CURRENT);
            } catch (RuntimeException problem) {
                node.putObject(name).put("hex", hex(bytes)).put("error", problem.toString());
                return;
            }
            if (text == null) node.putNull(name);
            else node.putRawValue(name, new RawValue(text));
        }

        private static String hex(ByteBuffer bytes) {
            return ByteBufferUtil.bytesToHex(bytes);
        }
    }
}
